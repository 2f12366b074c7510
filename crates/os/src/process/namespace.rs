//! Creating namespaces and joining those of other processes.

use std::fs;
use std::io;
use std::os::fd::AsFd;

pub use nix::sched::CloneFlags as Namespaces;

use super::identity::PidFd;

/// Move this process into new namespaces.
pub fn unshare(namespaces: Namespaces) -> io::Result<()> {
    Ok(nix::sched::unshare(namespaces)?)
}

/// Move this process into the network namespace of another process.
pub fn join_network(of: &PidFd) -> io::Result<()> {
    Ok(nix::sched::setns(of.as_fd(), Namespaces::CLONE_NEWNET)?)
}

/// Move this process into the network namespace that a descriptor refers to.
pub fn join_network_of(descriptor: &impl AsFd) -> io::Result<()> {
    Ok(nix::sched::setns(descriptor, Namespaces::CLONE_NEWNET)?)
}

/// Set the host name of this UTS namespace.
pub fn set_hostname(name: &str) -> io::Result<()> {
    Ok(nix::unistd::sethostname(name)?)
}

/// Map root of the current, new user namespace to the user and group that created it.
pub fn map_to_root(uid: u32, gid: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

/// Return the effective user and group of this process.
pub fn user() -> (u32, u32) {
    (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
}
