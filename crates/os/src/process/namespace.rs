//! Namespaces (namespaces(7)): creating them, joining those of other processes, and their settings.

use std::os::fd::AsFd;
use std::{fs, io};

pub use super::Namespaces;
use super::PidFd;

/// Move this process into new namespaces (unshare(2)). Fails with `EPERM` without the privilege for them.
pub fn unshare(namespaces: Namespaces) -> io::Result<()> {
    Ok(nix::sched::unshare(namespaces)?)
}

/// Move the calling thread into the network namespace of another process (setns(2)). Fails with `EPERM`
/// without `CAP_SYS_ADMIN`, and with `ESRCH` if that process has ended.
pub fn join_network(of: &PidFd) -> io::Result<()> {
    Ok(nix::sched::setns(of.as_fd(), Namespaces::CLONE_NEWNET)?)
}

/// Move this process, which has a single thread, into the user namespace of another one (setns(2)). Fails with `EPERM`
/// for one that another user made, and with `ESRCH` if that process has ended.
pub fn join_user(of: &PidFd) -> io::Result<()> {
    Ok(nix::sched::setns(of.as_fd(), Namespaces::CLONE_NEWUSER)?)
}

/// Move the calling thread into the network namespace that a descriptor refers to (setns(2)). Fails with
/// `EPERM` without `CAP_SYS_ADMIN`.
pub fn join_network_of(descriptor: &impl AsFd) -> io::Result<()> {
    Ok(nix::sched::setns(descriptor, Namespaces::CLONE_NEWNET)?)
}

/// Return whether the calling thread is in the network namespace of process 1 of its PID namespace. Fails if `/proc` is
/// not mounted, or without the right to look at that process (ptrace(2)).
pub fn is_in_network_of_init() -> io::Result<bool> {
    Ok(fs::read_link("/proc/thread-self/ns/net")? == fs::read_link("/proc/1/ns/net")?)
}

/// Set the host name of this UTS namespace (sethostname(2)). Fails with `EPERM` without `CAP_SYS_ADMIN`.
pub fn set_hostname(name: &str) -> io::Result<()> {
    Ok(nix::unistd::sethostname(name)?)
}

/// Map root of the current, new user namespace to the user and group that created it (user_namespaces(7)).
/// Fails if the namespace has a mapping already.
pub fn map_to_root(uid: u32, gid: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

/// Return the effective user and group of this process, in this order (credentials(7)).
pub fn user() -> (u32, u32) {
    (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
}
