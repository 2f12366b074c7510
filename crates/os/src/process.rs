//! Processes: clone with namespaces, the parent's death, and handles that survive reuse of a pid.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sched::CpuSet;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::Pid;

/// The namespaces that a process can get of its own, as flags of clone(2).
pub use nix::sched::CloneFlags as Namespaces;

/// The side of a clone on which the caller continues.
pub enum Side {
    /// The calling process, with the child's pid as the caller sees it.
    Parent(i32),
    /// The new process.
    Child,
}

/// Call clone(2) in the form of fork(2), with the child in new `namespaces`. Only for single-threaded
/// processes.
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

/// Call fork(2).
pub fn fork() -> io::Result<Side> {
    clone(Namespaces::empty())
}

/// Request SIGKILL when the parent dies. The caller must then check whether the parent is already dead.
pub fn die_with_parent() -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)
}

/// Return the parent's pid as this process sees it; 0 if the parent is in an outer PID namespace.
pub fn parent() -> i32 {
    nix::unistd::getppid().as_raw()
}

/// A handle of a process (pidfd): readable once the process has ended, and never another process with the
/// same pid.
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
    pid: i32,
}

impl PidFd {
    /// Open the handle of a live process, or of an ended child that was not waited for.
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

    /// Send a signal. Succeed if the process has ended.
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
/// time together identify one process for ever.
pub fn start_time(pid: i32) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the program's name in parentheses, which may itself hold parentheses and spaces.
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = after.split_whitespace().nth(22 - 3).and_then(|text| text.parse().ok());
    field.ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat has no start time")))
}

/// The way in which a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The exit code of a child that called exit(2).
    Exit(i32),
    /// The signal that killed the child.
    Killed(i32),
}

/// Block until any child ends; return `None` if there is none left.
pub fn wait_any() -> Option<(i32, Ended)> {
    wait(-1)
}

/// Block until the child `pid` ends, or any child for -1; return `None` if there is no such child.
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

/// Send a signal to every process of a group. Succeed if the group is empty.
pub fn signal_group(group: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    if unsafe { libc::kill(-group, signal) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}

/// Let the kernel reap all children, including those that this process inherits.
pub fn reap_by_kernel() -> io::Result<()> {
    child_signal(SigHandler::SigIgn)
}

/// Keep ended children until they are waited for, as [`wait`] needs it.
pub fn reap_by_wait() -> io::Result<()> {
    child_signal(SigHandler::SigDfl)
}

fn child_signal(handler: SigHandler) -> io::Result<()> {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler is one of the kernel's own, no code of ours runs in a signal.
    unsafe { sigaction(Signal::SIGCHLD, &action) }?;
    Ok(())
}

/// Restrict this process to these CPUs.
pub fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    set_thread_affinity(0, cpus)
}

/// Make the command's process the leader of a new session, and kill it when this process dies. With
/// `terminal` its standard input becomes the session's controlling terminal. Signals get their default
/// actions: a background shell starts its children with SIGINT ignored.
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

/// Pass `descriptor` to the command under the number `as_number`, which must not be 0 to 2.
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

/// Restrict one thread, by its id, to these CPUs.
pub fn set_thread_affinity(thread: i32, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(nix::sched::sched_setaffinity(Pid::from_raw(thread), &set)?)
}

/// Set variables of this process's environment. Only for single-threaded processes.
pub fn set_environment(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: the callers have one thread, nobody reads the environment meanwhile.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Make this process the leader of a new session, out of reach of the terminal's Ctrl-C.
pub fn leave_terminal() -> io::Result<()> {
    nix::unistd::setsid()?;
    Ok(())
}
