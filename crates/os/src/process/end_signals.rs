//! Signals that ask a process to end, as messages to read from a descriptor (signalfd(2)), and the end by a signal.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigHandler, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::Ended;

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

/// End this process as another one has ended: with its exit code, or by its signal. It leaves no core file.
pub fn end_like(ended: Ended) -> ! {
    let code = match ended {
        Ended::Exit(code) => code,
        Ended::Killed(signal) => {
            let _ = super::rights::leave_no_core();
            if let Ok(signal) = Signal::try_from(signal) {
                let _ = super::handle(signal, SigHandler::SigDfl);
                let _ = nix::sys::signal::raise(signal);
            }
            // Where no signal ends a process, shells say it by a number.
            128 + signal
        }
    };
    std::process::exit(code)
}
