//! The ends of child processes.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// The way in which a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The exit code of a child that called exit(2).
    Exit(i32),
    /// The signal that killed the child.
    Killed(i32),
}

/// The CPU time that a process used, and its children that it waited for (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The time in user mode.
    pub user: Duration,
    /// The time in the kernel.
    pub system: Duration,
}

/// Block until any child ends. Return its pid and its end; `None` if there is no child left.
pub fn wait_any() -> Option<(i32, Ended)> {
    wait(-1)
}

/// Block until the child `pid` ends, or any child for -1 (waitpid(2)). Return its pid and its end; `None` if
/// there is no such child.
pub fn wait(pid: i32) -> Option<(i32, Ended)> {
    wait_usage(pid).map(|(pid, ended, _)| (pid, ended))
}

/// Do as [`wait`], and return the CPU time that the child used, too (wait4(2)).
pub fn wait_usage(pid: i32) -> Option<(i32, Ended, Usage)> {
    loop {
        let mut status = 0;
        let mut used = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `status` is a live i32, `used` a live rusage.
        let pid = unsafe { libc::wait4(pid, &raw mut status, 0, used.as_mut_ptr()) };
        if pid < 0 {
            if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return None;
        }
        // SAFETY: all bits zero are a valid rusage, and the kernel may have written another.
        let used = usage(unsafe { used.assume_init_ref() });
        if libc::WIFEXITED(status) {
            return Some((pid, Ended::Exit(libc::WEXITSTATUS(status)), used));
        }
        if libc::WIFSIGNALED(status) {
            return Some((pid, Ended::Killed(libc::WTERMSIG(status)), used));
        }
    }
}

fn usage(used: &libc::rusage) -> Usage {
    let duration = |time: libc::timeval| {
        let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
        seconds + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    Usage { user: duration(used.ru_utime), system: duration(used.ru_stime) }
}

/// Return the CPU time that the calling thread has used.
pub fn own_usage() -> io::Result<Usage> {
    let used = getrusage(UsageWho::RUSAGE_THREAD)?;
    Ok(usage(used.as_ref()))
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
