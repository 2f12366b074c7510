//! The ICMP errors that end connections and exchanges of datagrams.

use std::os::fd::BorrowedFd;

use delaylab_os::socket::batch::ReceiveBatch;
use delaylab_os::socket::control_message::Unreachable;

/// The errors to read at once, and the bytes of the packet that each quotes; only the cause matters.
const SLOTS: usize = 4;
const QUOTED: usize = 64;

/// A reader of the errors that a socket has received.
#[derive(Debug)]
pub(super) struct IcmpErrors(ReceiveBatch);

impl Default for IcmpErrors {
    fn default() -> Self {
        Self(ReceiveBatch::without_sources(SLOTS, QUOTED))
    }
}

impl IcmpErrors {
    /// Return the cause that the first error of a socket states; `None` if it has received none.
    pub(super) fn cause(&mut self, fd: BorrowedFd<'_>) -> Option<Unreachable> {
        let count = self.0.receive_errors(fd).ok()?;
        (0..count).find_map(|slot| self.0.message(slot).control().unreachable)
    }
}
