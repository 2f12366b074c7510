//! The times and the outcome of one packet of a probe.

use delaylab_os::clock::Realtime;

/// A stamp that was not taken.
pub(super) const NONE: Realtime = Realtime::from_ns(0);

/// The times of one packet in ns since the Unix epoch; 0 if there is none. The probe's own times are steady
/// (`timing::steady`), the kernel's stamps those of the clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub intended: i64,
    pub sent: i64,
    /// The time at which the connection of an HTTP request was open, and that of sending the request on it.
    pub opened: i64,
    pub asked: i64,
    /// The kernel's stamps: into the queue, to the driver, from the driver.
    pub qdisc: Realtime,
    pub transmitted: Realtime,
    pub received: Realtime,
    /// The time at which the reply reached user space.
    pub replied: i64,
    /// The time to live or hop limit of the reply; 0 if not requested.
    pub ttl: u8,
    pub error: u16,
    pub duplicates: u16,
    pub reordered: bool,
    pub refused: bool,
    /// True if the answer says that the port is closed.
    pub closed: bool,
    /// The number of the address that has answered, from 1; 0 if it is not known.
    pub answered_by: u16,
    /// True if the answer is that of a router that dropped the packet because its TTL was used up.
    pub expired: bool,
}

impl Entry {
    /// Return the time at which the request was sent: an HTTP request on its connection, any other packet at once.
    pub(super) fn requested(&self) -> i64 {
        if self.asked != 0 { self.asked } else { self.sent }
    }

    /// Return how long it took to open the connection of an HTTP request.
    pub(super) fn handshake_ns(&self) -> Option<i64> {
        (self.opened != 0).then(|| self.opened - self.sent)
    }
}
