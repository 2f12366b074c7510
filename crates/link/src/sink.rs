//! Where a pipe's frames go.

/// Takes what a pipe has decided. Every frame offered comes here once, or still waits.
pub trait Sink<T> {
    /// The frame leaves the link.
    fn deliver(&mut self, delivery: Delivery<T>);
    /// The frame is gone.
    fn drop(&mut self, frame: T, why: Reason);
}

/// How a frame leaves the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When, on the clock of the arrivals; it may be past.
    pub due_ns: i64,
    /// The handle that was offered.
    pub frame: T,
    /// 1, or 2 of a frame that is duplicated.
    pub copies: u8,
    /// The bit to turn, modulo the bits behind the Ethernet header; `None` leaves the frame whole.
    pub corrupt: Option<u64>,
    /// Whether it went without delay, past the frames before it.
    pub reordered: bool,
}

/// Why a frame is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The loss that was asked.
    Loss,
    /// The queue was full.
    Queue,
    /// The queue's discipline dropped it before that.
    Early,
}
