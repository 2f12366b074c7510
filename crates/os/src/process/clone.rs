//! New processes, and a process's ties with its parent, its terminal and its environment.

use std::io;

use nix::sys::signal::Signal;

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
