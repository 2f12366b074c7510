//! Signals that are read like messages.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// SIGTERM, SIGINT and SIGHUP, held back and readable instead.
pub struct EndSignals(SignalFd);

impl EndSignals {
    /// Holds them back from now on.
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

/// Lets every signal through again.
pub fn unblock_all() -> io::Result<()> {
    Ok(SigSet::empty().thread_set_mask()?)
}
