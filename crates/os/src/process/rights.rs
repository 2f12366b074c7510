//! The rights of a process, given up for good.

pub mod capabilities;
pub mod system_calls;

use std::io;

use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::{Mode, umask};
use nix::sys::sysinfo::sysinfo;
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};

/// A user and group that owns nothing and runs nothing else: no file of this machine is its own.
const NOBODY_ELSE: u32 = 2_147_000_000;
/// The system's user `nobody`, where numbers of users are limited (user_namespaces(7)).
const NOBODY: u32 = 65_534;

/// Become a user without rights. Only for root; its capabilities are lost by it (capabilities(7)).
pub fn become_nobody() -> io::Result<()> {
    setgroups(&[])?;
    match become_user(NOBODY_ELSE) {
        Err(Errno::EINVAL) => Ok(become_user(NOBODY)?),
        done => Ok(done?),
    }
}

fn become_user(number: u32) -> nix::Result<()> {
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}

/// Have no program that this process becomes gain rights (prctl(2), `PR_SET_NO_NEW_PRIVS`).
pub fn never_gain() -> io::Result<()> {
    Ok(nix::sys::prctl::set_no_new_privs()?)
}

/// Make files that this process makes readable for all.
pub fn make_readable() {
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
}

/// Leave no core file at the end (core(5)).
pub fn leave_no_core() -> io::Result<()> {
    Ok(setrlimit(Resource::RLIMIT_CORE, 0, 0)?)
}

/// Limit the memory of this process to a half of the machine's, and files that it writes to a length in bytes.
pub fn limit_use(file_bytes: u64) -> io::Result<()> {
    leave_no_core()?;
    setrlimit(Resource::RLIMIT_FSIZE, file_bytes, file_bytes)?;
    let half = sysinfo()?.ram_total() / 2;
    Ok(setrlimit(Resource::RLIMIT_DATA, half, half)?)
}
