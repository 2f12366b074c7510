//! The ends of child processes.

use std::io;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// The way in which a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The exit code of a child that called exit(2).
    Exit(i32),
    /// The signal that killed the child.
    Killed(i32),
}

/// Block until any child ends. Return its pid and its end; `None` if there is no child left.
pub fn wait_any() -> Option<(i32, Ended)> {
    wait(-1)
}

/// Block until the child `pid` ends, or any child for -1 (waitpid(2)). Return its pid and its end; `None` if
/// there is no such child.
pub fn wait(pid: i32) -> Option<(i32, Ended)> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a live i32.
        let pid = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        if pid < 0 {
            if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return None;
        }
        if libc::WIFEXITED(status) {
            return Some((pid, Ended::Exit(libc::WEXITSTATUS(status))));
        }
        if libc::WIFSIGNALED(status) {
            return Some((pid, Ended::Killed(libc::WTERMSIG(status))));
        }
    }
}

/// Send a signal to every process of a group (kill(2)). Succeed if the group is empty. Fails with `EPERM` if
/// this process may signal none of them.
pub fn signal_group(group: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    if unsafe { libc::kill(-group, signal) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}

/// Let the kernel reap all children, including those that this process inherits (sigaction(2), `SIGCHLD`).
pub fn reap_by_kernel() -> io::Result<()> {
    child_signal(SigHandler::SigIgn)
}

/// Keep ended children until they are waited for, as [`wait`] needs it.
pub fn reap_by_wait() -> io::Result<()> {
    child_signal(SigHandler::SigDfl)
}

/// Set the handler of `SIGCHLD`.
fn child_signal(handler: SigHandler) -> io::Result<()> {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler is one of the kernel's own, no code of ours runs in a signal.
    unsafe { sigaction(Signal::SIGCHLD, &action) }?;
    Ok(())
}
