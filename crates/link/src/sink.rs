//! The receiver of a pipe's decisions.

/// A receiver of a pipe's decisions. Every offered frame either reaches it once or still waits.
pub trait Sink<T> {
    /// Take a frame that leaves the link.
    fn deliver(&mut self, delivery: Delivery<T>);
    /// Take a frame that the link dropped.
    fn drop(&mut self, frame: T, why: Reason);
}

/// A frame that leaves the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The departure time, on the clock of the arrivals; it may be in the past.
    pub due_ns: i64,
    /// The handle that was offered.
    pub frame: T,
    /// The number of copies: 1, or 2 for a duplicated frame.
    pub copies: u8,
    /// The bit to flip, modulo the number of bits behind the Ethernet header; `None` leaves the frame intact.
    pub corrupt: Option<u64>,
    /// True if the frame went without delay, past earlier frames.
    pub reordered: bool,
}

/// The reason why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The configured loss.
    Loss,
    /// The queue was full.
    Queue,
    /// The queue's discipline dropped the frame before the queue was full.
    Early,
}
