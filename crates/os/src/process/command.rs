//! Settings of commands that are to be started.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::signal::{SigHandler, Signal};

use super::clone::die_with_parent;

/// Make the command's process the leader of a new session, and kill it when this process dies. With
/// `terminal` its standard input becomes the session's controlling terminal. Signals get their default
/// actions: a background shell starts its children with SIGINT ignored. Failures are those of the command's
/// start.
pub fn new_session(command: &mut Command, terminal: bool) {
    let parent = nix::unistd::getpid();
    let prepare = move || {
        die_with_parent()?;
        if nix::unistd::getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP] {
            // SAFETY: the default is no handler.
            unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) }?;
        }
        nix::unistd::setsid()?;
        // SAFETY: TIOCSCTTY takes an integer; descriptor 0 is open.
        if terminal && unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}

/// Pass `descriptor` to the command under the number `as_number`, which must not be 0 to 2. Failures are
/// those of the command's start.
pub fn hand_over(command: &mut Command, descriptor: OwnedFd, as_number: i32) {
    let prepare = move || {
        // SAFETY: takes integers only. dup2 clears close-on-exec for a different number; for the same number
        // it must be cleared explicitly.
        let done = unsafe {
            if descriptor.as_raw_fd() == as_number {
                libc::fcntl(as_number, libc::F_SETFD, 0)
            } else {
                libc::dup2(descriptor.as_raw_fd(), as_number)
            }
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec only a system call is made.
    unsafe { command.pre_exec(prepare) };
}
