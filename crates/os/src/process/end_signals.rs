//! Signals that ask a process to end, as messages to read from a descriptor (signalfd(2)).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// SIGTERM, SIGINT and SIGHUP, blocked and readable from a descriptor instead.
pub struct EndSignals(SignalFd);

impl EndSignals {
    /// Block these signals in the calling thread from now on, and open the descriptor.
    pub fn block() -> io::Result<Self> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            set.add(signal);
        }
        set.thread_block()?;
        Ok(Self(SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?))
    }
}

impl AsFd for EndSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Unblock all signals in the calling thread.
pub fn unblock_all() -> io::Result<()> {
    Ok(SigSet::empty().thread_set_mask()?)
}
