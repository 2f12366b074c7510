//! Sockets of another process.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::PidFd;
use crate::socket::option::set_option;

/// Groups of routing netlink (linux/rtnetlink.h, `enum rtnetlink_groups`).
const IPV4_ROUTE: libc::c_int = 7;
const IPV6_ROUTE: libc::c_int = 11;

/// Keep the kernel from telling a process of changed routes: its sockets of routing netlink leave these groups, and stay
/// in others. Return how many sockets did. Fail with `EPERM` without the right to trace the process.
pub fn leave_route_groups(of: &PidFd) -> io::Result<usize> {
    let mut left = 0;
    for entry in fs::read_dir(format!("/proc/{}/fd", of.pid()))? {
        let entry = entry?;
        // A descriptor that was closed meanwhile leads nowhere.
        let is_socket = fs::read_link(entry.path())
            .is_ok_and(|path| path.to_string_lossy().starts_with("socket:"));
        let number = entry.file_name().to_string_lossy().parse::<i32>();
        let (true, Ok(number)) = (is_socket, number) else { continue };
        let socket = duplicate(of, number)?;
        if is_routing_netlink(&socket) {
            for group in [IPV4_ROUTE, IPV6_ROUTE] {
                let name = libc::NETLINK_DROP_MEMBERSHIP;
                set_option(socket.as_raw_fd(), libc::SOL_NETLINK, name, &group)?;
            }
            left += 1;
        }
    }
    Ok(left)
}

fn is_routing_netlink(socket: &OwnedFd) -> bool {
    number(socket, libc::SO_DOMAIN) == Some(libc::AF_NETLINK)
        && number(socket, libc::SO_PROTOCOL) == Some(libc::NETLINK_ROUTE)
}

/// Return a socket option that is a number; `None` if the socket has none of this name.
fn number(socket: &OwnedFd, name: libc::c_int) -> Option<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both places are this function's own, and of the lengths that are given.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    (asked == 0).then_some(value)
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
