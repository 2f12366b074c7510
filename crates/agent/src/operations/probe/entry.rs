//! The times and the outcome of one packet of a probe.

use delaylab_os::clock::{Monotonic, Realtime, Span};

/// A stamp that was not taken.
pub(super) const NONE: Realtime = Realtime::from_ns(0);
/// The time of what has not happened.
pub(super) const NEVER: Monotonic = Monotonic::from_ns(0);

/// The times of one packet: the probe's own, which setting the clock does not change, and the kernel's stamps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub intended: Monotonic,
    pub sent: Monotonic,
    /// The time at which the connection of an HTTP request was open, and that of sending the request on it.
    pub opened: Monotonic,
    pub asked: Monotonic,
    /// The kernel's stamps: into the queue, to the driver, from the driver.
    pub qdisc: Realtime,
    pub transmitted: Realtime,
    pub received: Realtime,
    /// The time at which the reply reached user space.
    pub replied: Monotonic,
    /// The time to live or hop limit of the reply; 0 if not requested.
    pub ttl: u8,
    pub error: u16,
    pub duplicates: u16,
    pub reordered: bool,
    pub refused: bool,
    /// True if an answer came that is not the packet's reply.
    pub mismatched: bool,
    /// True if the answer says that the port is closed.
    pub closed: bool,
    /// The number of the address that has answered, from 1; 0 if it is not known.
    pub answered_by: u16,
    /// True if the answer is that of a router that dropped the packet because its TTL was used up.
    pub expired: bool,
    /// The stamps that the client has already, a bit for each in the order of the path, and [`ROW`].
    pub given: u8,
}

/// The bit of [`Entry::given`] that says that the client has the packet's row as it is now.
pub(super) const ROW: u8 = 1 << 7;

impl Entry {
    /// Return the time at which the request was sent: an HTTP request on its connection, any other packet at once.
    pub(super) fn requested(&self) -> Monotonic {
        if self.asked != NEVER { self.asked } else { self.sent }
    }

    /// Return how long it took to open the connection of an HTTP request.
    pub(super) fn handshake(&self) -> Option<Span> {
        (self.opened != NEVER).then(|| self.opened - self.sent)
    }
}
