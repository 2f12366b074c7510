//! Processes: clone with namespaces, the parent's death, handles that cannot be mistaken.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sched::CpuSet;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::Pid;

/// Namespaces that a process can get of its own, as flags of clone(2).
pub use nix::sched::CloneFlags as Namespaces;

/// Which side of a clone this is.
pub enum Side {
    /// The caller goes on; the child's pid as the caller sees it.
    Parent(i32),
    /// The new process.
    Child,
}

/// clone(2) in the form of fork(2), the child in new `namespaces`. Only for processes of one thread.
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

/// fork(2).
pub fn fork() -> io::Result<Side> {
    clone(Namespaces::empty())
}

/// Asks for SIGKILL when the parent dies. The caller must then look whether it already has.
pub fn die_with_parent() -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)
}

/// The pid of the parent as this process sees it; 0 if it is in an outer pid namespace.
pub fn parent() -> i32 {
    nix::unistd::getppid().as_raw()
}

/// A process by handle: readable when it has ended, never another process that got its number.
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
    pid: i32,
}

impl PidFd {
    /// The handle of a process that is alive, or is a child that was not waited for.
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

    /// The process's number, which may be another's once it has ended.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends a signal; no error if the process has ended.
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

/// Return when a process started, in clock ticks since boot: with its pid, the name of one process for ever
/// (proc_pid_stat(5), field 22).
pub fn start_time(pid: i32) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the program's name in brackets, which may hold brackets and spaces.
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = after.split_whitespace().nth(22 - 3).and_then(|text| text.parse().ok());
    field.ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat has no start time")))
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By exit(2), with this code.
    Exit(i32),
    /// By this signal.
    Killed(i32),
}

/// Waits for any child; `None` if there is none left.
pub fn wait_any() -> Option<(i32, Ended)> {
    wait(-1)
}

/// Waits for the child `pid`, or any for -1; `None` if there is no such child.
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

/// Sends a signal to every process of a group; no error if it is empty.
pub fn signal_group(group: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    if unsafe { libc::kill(-group, signal) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}

/// Lets the kernel reap all children, also those that it inherits.
pub fn reap_by_kernel() -> io::Result<()> {
    child_signal(SigHandler::SigIgn)
}

/// Makes ended children wait to be asked for again, as [`wait`] needs it.
pub fn reap_by_wait() -> io::Result<()> {
    child_signal(SigHandler::SigDfl)
}

fn child_signal(handler: SigHandler) -> io::Result<()> {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler is one of the kernel's own, no code of ours runs in a signal.
    unsafe { sigaction(Signal::SIGCHLD, &action) }?;
    Ok(())
}

/// Binds this process to some CPUs.
pub fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    set_thread_affinity(0, cpus)
}

/// Makes the command's process the leader of a session of its own that dies with this process;
/// with `terminal`, its standard input becomes the session's controlling terminal. Signals do to it
/// what they usually do: a shell in the background starts what it starts with SIGINT ignored.
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

/// Hands `descriptor` to the command under the number `as_number`, which must not be 0 to 2.
pub fn hand_over(command: &mut Command, descriptor: OwnedFd, as_number: i32) {
    let prepare = move || {
        // SAFETY: takes integers. A copy under another number is not close-on-exec; the same
        // number must be told.
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

/// Binds one thread, by its id, to some CPUs.
pub fn set_thread_affinity(thread: i32, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(nix::sched::sched_setaffinity(Pid::from_raw(thread), &set)?)
}

/// Sets variables of this process's environment. Only for processes of one thread.
pub fn set_environment(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: the callers have one thread, nobody reads the environment meanwhile.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Makes this process the leader of a session of its own, out of reach of the terminal's Ctrl-C.
pub fn leave_terminal() -> io::Result<()> {
    nix::unistd::setsid()?;
    Ok(())
}
