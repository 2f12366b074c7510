//! The kernel itself: its modules, its parameters (sysctl(8)), its power.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::stat::Mode;

/// The parameters of a module: none.
const NO_PARAMETERS: &CStr = c"";

/// Load a kernel module from its file (finit_module(2)). Succeed if the module is already loaded. Needs
/// `CAP_SYS_MODULE`.
pub fn load_module(file: &File) -> io::Result<()> {
    // SAFETY: the parameters are a C string that lives long enough.
    let done = unsafe {
        libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), NO_PARAMETERS.as_ptr(), 0)
    };
    if done == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::EEXIST) { Ok(()) } else { Err(error) }
}

/// Switch the machine off at once (reboot(2)). Only for the first process of a virtual machine.
pub fn power_off() -> io::Result<()> {
    reboot(RebootMode::RB_POWER_OFF)?;
    Ok(())
}

/// The parameters of a network namespace: those whose names begin with `net`.
#[derive(Debug)]
pub struct NetworkParameters(OwnedFd);

impl NetworkParameters {
    /// Open the parameters of this process's current network namespace, in `proc`, a proc mount of its own,
    /// or else in `/proc`.
    ///
    /// A proc mount keeps the `sys/net` of all namespaces under one name and searches them linearly
    /// (fs/proc/proc_sysctl.c, `proc_sys_compare`). With hundreds of namespaces several mounts are faster.
    pub fn current(proc: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self(match proc {
            Some(proc) => openat(proc, "sys/net", flags, Mode::empty())?,
            None => open("/proc/sys/net", flags, Mode::empty())?,
        }))
    }

    /// Set the parameter `name`, written as sysctl(8) takes it. Parameters outside of `net` are set in
    /// `/proc/sys`. Fails with `ENOENT` if the kernel has no such parameter, and with `EINVAL` if it does not
    /// take the value.
    pub fn set(&self, name: &str, value: &str) -> io::Result<()> {
        let path = parameter_path(name);
        let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC;
        let file = match path.strip_prefix("net") {
            Ok(below) => openat(&self.0, below, flags, Mode::empty())?,
            Err(_) => open(&Path::new("/proc/sys").join(path), flags, Mode::empty())?,
        };
        // The kernel accepts a value only in one write.
        let written = nix::unistd::write(&file, value.as_bytes())?;
        if written == value.len() { Ok(()) } else { Err(Errno::EINVAL.into()) }
    }

    /// Set the parameter as [`Self::set`] does, if the kernel has it.
    pub fn set_if_there(&self, name: &str, value: &str) -> io::Result<()> {
        match self.set(name, value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// Convert a parameter's name to a path. Dots separate folders, unless a slash comes first
/// (`net/ipv4/conf/eth0.1/forwarding`).
fn parameter_path(name: &str) -> PathBuf {
    let separator = name.find(['.', '/']).map(|at| &name[at..=at]);
    if separator == Some("/") {
        return name.into();
    }
    let swapped = name.chars().map(|c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    swapped.collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_separator_says_which_one_it_is() {
        let expected = Path::new("net/ipv4/conf/eth0.1/forwarding");
        assert_eq!(parameter_path("net/ipv4/conf/eth0.1/forwarding"), expected);
        assert_eq!(parameter_path("net.ipv4.conf.eth0/1.forwarding"), expected);
    }
}
