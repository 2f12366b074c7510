//! Processes: their creation and their end, their namespaces, CPUs, memory and names.

pub mod credential_channel;
pub mod end_signals;
pub mod going_on;
pub mod memory;
pub mod namespace;
pub mod open_files;
pub mod rights;
pub mod scheduling;
pub mod sockets;
pub mod title;

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, io};

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::{Pid, getsid};

use crate::files::poll::{self, Interest};
/// Signals by number (signal(7)), for [`PidFd::signal`] and [`signal_group`].
pub use libc::{SIGCONT, SIGKILL, SIGSTOP, SIGTERM};
/// The namespaces that a process can get of its own, as flags of clone(2).
pub use nix::sched::CloneFlags as Namespaces;

/// The side of a clone on which the caller continues.
pub enum Side {
    /// The calling process, with the child's pid as the caller sees it.
    Parent(i32),
    /// The new process.
    Child,
}

/// Call clone(2) in the form of fork(2), with the child in new `namespaces`, and return in both processes.
/// Only for single-threaded processes. Fails with `EPERM` without the privilege for the namespaces.
pub fn clone(namespaces: Namespaces) -> io::Result<Side> {
    let flags = libc::c_long::from(namespaces.bits() | libc::SIGCHLD);
    // SAFETY: no stack and no CLONE_VM, so the child goes on in a copy of this process, as after
    // fork; the callers have one thread, hence no lock is held by another.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match pid {
        0 => Ok(Side::Child),
        1.. => Ok(Side::Parent(i32::try_from(pid).expect("a pid fits i32"))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Call fork(2), and return in both processes. Only for single-threaded processes.
pub fn fork() -> io::Result<Side> {
    clone(Namespaces::empty())
}

/// Request SIGKILL when the parent dies (prctl(2), `PR_SET_PDEATHSIG`). The caller must then check whether
/// the parent is already dead.
pub fn die_with_parent() -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)
}

/// Return the parent's pid as this process sees it; 0 if the parent is in an outer PID namespace.
pub fn parent() -> i32 {
    nix::unistd::getppid().as_raw()
}

/// Set variables of this process's environment. Only for single-threaded processes.
pub fn set_environment(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: the callers have one thread, nobody reads the environment meanwhile.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Make this process the leader of a new session, out of reach of the terminal's Ctrl-C (setsid(2)). Fails
/// with `EPERM` if it leads a process group.
pub fn leave_terminal() -> io::Result<()> {
    nix::unistd::setsid()?;
    Ok(())
}

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

/// Pass descriptors to the command, each under the number beside it, which must not be 0 to 2. Fail if they
/// cannot be duplicated; other failures are those of the command's start.
pub fn hand_over(command: &mut Command, descriptors: Vec<(OwnedFd, i32)>) -> io::Result<()> {
    // Above all of these numbers, so that none is overwritten before it has been passed on.
    let above = descriptors.iter().map(|(_, number)| number + 1).max().unwrap_or(0);
    let duplicate = |(descriptor, number): (OwnedFd, i32)| {
        let copy = fcntl(&descriptor, FcntlArg::F_DUPFD_CLOEXEC(above))?;
        // SAFETY: the descriptor was just made, and nothing else owns it.
        Ok((unsafe { OwnedFd::from_raw_fd(copy) }, number))
    };
    let copies: Vec<_> = descriptors.into_iter().map(duplicate).collect::<io::Result<_>>()?;
    let prepare = move || {
        for (descriptor, number) in &copies {
            // SAFETY: takes integers only. dup2 clears close-on-exec, since the numbers differ.
            if unsafe { libc::dup2(descriptor.as_raw_fd(), *number) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(prepare) };
    Ok(())
}

/// The end of a child.
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

/// Forget the children that have ended, without waiting for others.
pub fn reap_ended() {
    // SAFETY: a null pointer asks for no status.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
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
    handle(Signal::SIGCHLD, SigHandler::SigIgn)
}

/// Keep ended children until they are waited for, as [`wait`] needs it.
pub fn reap_by_wait() -> io::Result<()> {
    handle(Signal::SIGCHLD, SigHandler::SigDfl)
}

/// Go on when asked to end (`SIGTERM`). Whoever calls this ends by itself soon, and cleans up first.
pub fn ignore_request_to_end() -> io::Result<()> {
    handle(Signal::SIGTERM, SigHandler::SigIgn)
}

/// Set one of the kernel's own handlers of a signal.
fn handle(signal: Signal, handler: SigHandler) -> io::Result<()> {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler is one of the kernel's own, no code of ours runs in a signal.
    unsafe { sigaction(signal, &action) }?;
    Ok(())
}

/// A handle of a process (pidfd): readable once the process has ended, and never another process with the
/// same pid.
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
    pid: i32,
}

impl PidFd {
    /// Open the handle of a live process, or of an ended child that was not waited for (pidfd_open(2)). Fails
    /// with `ESRCH` if there is no such process.
    pub fn open(pid: i32) -> io::Result<Self> {
        // SAFETY: no memory is passed; the result is a new descriptor or -1.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = i32::try_from(fd).expect("a descriptor fits i32");
        // SAFETY: the kernel just made this descriptor for us (close-on-exec by default).
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, pid })
    }

    /// Return the process's pid, which may be another process's once this one has ended.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Send a signal, by its number (pidfd_send_signal(2)). Succeed if the process has ended.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        // SAFETY: no siginfo is passed.
        let result = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.fd.as_raw_fd(), signal, 0, 0)
        };
        if result == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Return the start time of a process, in clock ticks since boot (proc_pid_stat(5), field 22). Pid and start
/// time together identify one process for ever. Fail if there is no such process.
pub fn start_time(pid: i32) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the program's name in parentheses, which may itself hold parentheses and spaces.
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = after.split_whitespace().nth(22 - 3).and_then(|text| text.parse().ok());
    field.ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat has no start time")))
}

/// The most times that the table of processes is read: a program that starts others faster than they are
/// killed is left.
const ROUNDS: usize = 10;
/// The longest wait for the end of a process after SIGKILL: one that waits for a disk takes as long as that.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Wait until every process of the session of `leader` has ended, whatever its process group, and after
/// `grace` kill those that have not. A shell with job control and a daemon of MPI give their children groups of
/// their own, which stay in the session. Processes that this one may not signal are left.
///
/// The leader must be alive, or a child that was not waited for: else its pid may be that of another session.
/// Fails if the table of processes cannot be read.
pub fn end_session(leader: i32, grace: Duration) -> io::Result<()> {
    let mut left = members(leader)?;
    await_ends(&left, grace)?;
    for _ in 0..ROUNDS {
        // Most often all had ended before: then the table of processes is read once.
        if left.is_empty() {
            break;
        }
        left = members(leader)?
            .into_iter()
            .filter(|each| each.signal(libc::SIGKILL).is_ok())
            .collect();
        await_ends(&left, AFTER_KILL)?;
    }
    Ok(())
}

/// Send a signal to every process of the session of `leader`, whatever its process group. The leader must be alive
/// or not waited for. Fails if the table of processes cannot be read.
pub fn signal_session(leader: i32, signal: i32) -> io::Result<()> {
    for each in members(leader)? {
        each.signal(signal)?;
    }
    Ok(())
}

/// Wait until all of these processes have ended, or for a time.
fn await_ends(processes: &[PidFd], most: Duration) -> io::Result<()> {
    let until = Instant::now() + most;
    for process in processes {
        let left = until.saturating_duration_since(Instant::now());
        poll::wait(&[(process.as_fd(), Interest::Read)], Some(left))?;
    }
    Ok(())
}

/// Return the processes of a session that have not ended.
fn members(leader: i32) -> io::Result<Vec<PidFd>> {
    let pids =
        fs::read_dir("/proc")?.flatten().filter_map(|each| each.file_name().to_str()?.parse().ok());
    Ok(pids.filter_map(|pid| member(pid, leader).ok().flatten()).collect())
}

/// Return the handle of a process, if it belongs to the session of `leader` and has not ended.
fn member(pid: i32, leader: i32) -> io::Result<Option<PidFd>> {
    if !in_session(pid, leader)? {
        return Ok(None);
    }
    let process = PidFd::open(pid)?;
    let ended = poll::wait(&[(process.as_fd(), Interest::Read)], Some(Duration::ZERO))?[0];
    // Asked again, now that the handle keeps the pid from meaning another process.
    Ok((!ended && in_session(pid, leader)?).then_some(process))
}

/// Return true if a process belongs to the session of `leader`. This is asked of every process of the machine,
/// and getsid(2) takes far less time than reading `/proc/PID/stat`.
fn in_session(pid: i32, leader: i32) -> io::Result<bool> {
    Ok(getsid(Some(Pid::from_raw(pid)))? == Pid::from_raw(leader))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;
    use crate::files::descriptor;

    #[test]
    fn each_descriptor_arrives_under_its_number_whatever_its_own_is() {
        let (first, to_first) = descriptor::pipe().unwrap();
        let (second, to_second) = descriptor::pipe().unwrap();
        let (one, two) = (to_first.as_raw_fd(), to_second.as_raw_fd());
        let mut command = Command::new("sh");
        let script = format!("echo first >/proc/self/fd/{two}; echo second >/proc/self/fd/{one}");
        command.args(["-c", &script]);
        hand_over(&mut command, vec![(to_first, two), (to_second, one)]).unwrap();
        assert!(command.status().unwrap().success());
        drop(command);
        for (reader, expected) in [(first, "first\n"), (second, "second\n")] {
            let mut text = String::new();
            File::from(reader).read_to_string(&mut text).unwrap();
            assert_eq!(text, expected);
        }
    }
}
