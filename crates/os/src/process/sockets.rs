//! Sockets of another process.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::sys::socket::{SockType, getsockopt, sockopt};

use super::PidFd;
use crate::socket::option::set_option;

/// Return the raw sockets of a process for IP packets, as descriptors of this one (pidfd_getfd(2)). Fail with `EPERM`
/// without the right to trace it.
pub fn raw_sockets(of: &PidFd) -> io::Result<Vec<OwnedFd>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{}/fd", of.pid()))? {
        let entry = entry?;
        // A descriptor that was closed meanwhile leads nowhere.
        let is_socket = fs::read_link(entry.path())
            .is_ok_and(|path| path.to_string_lossy().starts_with("socket:"));
        let number = entry.file_name().to_string_lossy().parse::<i32>();
        if let (true, Ok(number)) = (is_socket, number) {
            let socket = duplicate(of, number)?;
            if is_raw(&socket) {
                found.push(socket);
            }
        }
    }
    Ok(found)
}

/// Return true for a raw socket of IP; netlink's sockets are raw, too.
fn is_raw(socket: &OwnedFd) -> bool {
    let mut family: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both places are this function's own, and of the lengths that are given.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_DOMAIN,
            (&raw mut family).cast(),
            &raw mut length,
        )
    };
    asked == 0
        && [libc::AF_INET, libc::AF_INET6].contains(&family)
        && getsockopt(socket, sockopt::SockType).is_ok_and(|it| it == SockType::Raw)
}

fn duplicate(of: &PidFd, number: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes integers; the result is a new descriptor or -1.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_getfd, of.fd.as_raw_fd(), number, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(fd).expect("a descriptor fits i32");
    // SAFETY: the kernel just made this descriptor for us (close-on-exec by default).
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Give a socket room for packets that nobody has read yet, whatever the system's limit. Fail with `EPERM` without
/// `CAP_NET_ADMIN`.
pub fn set_room(socket: &OwnedFd, bytes: u32) -> io::Result<()> {
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
}
