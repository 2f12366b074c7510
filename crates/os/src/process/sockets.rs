//! Sockets of another process.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::PidFd;
use crate::socket::option::set_option;

/// Groups of routing netlink (linux/rtnetlink.h, `enum rtnetlink_groups`): those that hear of changed routes.
const OF_ROUTES: [u32; 2] = [7, 11];

/// The groups of routing netlink that a socket of a process was in, by the number of its descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The number of the descriptor in its process.
    pub descriptor: i32,
    /// The numbers of the groups, from 1 on.
    pub groups: Vec<u32>,
}

impl Groups {
    /// Return these groups less those that hear of changed routes.
    pub fn without_routes(mut self) -> Self {
        self.groups.retain(|group| !OF_ROUTES.contains(group));
        self
    }
}

/// Keep the kernel from telling a process of changes: its sockets of routing netlink leave all groups. Return which
/// these were. Without the right to trace the process nothing is changed.
pub fn leave_groups(of: &PidFd) -> io::Result<Vec<Groups>> {
    let mut left = Vec::new();
    for entry in fs::read_dir(format!("/proc/{}/fd", of.pid()))? {
        let entry = entry?;
        // A descriptor that was closed meanwhile leads nowhere.
        let is_socket = fs::read_link(entry.path())
            .is_ok_and(|path| path.to_string_lossy().starts_with("socket:"));
        let number = entry.file_name().to_string_lossy().parse::<i32>();
        let (true, Ok(descriptor)) = (is_socket, number) else { continue };
        let Ok(socket) = duplicate(of, descriptor) else { continue };
        let groups = if is_routing_netlink(&socket) { groups(&socket)? } else { Vec::new() };
        for &group in &groups {
            set_option(
                socket.as_raw_fd(),
                libc::SOL_NETLINK,
                libc::NETLINK_DROP_MEMBERSHIP,
                &group,
            )?;
        }
        if !groups.is_empty() {
            left.push(Groups { descriptor, groups });
        }
    }
    Ok(left)
}

/// Have a socket of a process be in these groups, too. Fail with `EPERM` without the right to trace the process.
pub fn join_groups(of: &PidFd, groups: &Groups) -> io::Result<()> {
    let socket = duplicate(of, groups.descriptor)?;
    for group in &groups.groups {
        set_option(socket.as_raw_fd(), libc::SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, group)?;
    }
    Ok(())
}

/// Return the groups that a socket of netlink is in (netlink(7), `NETLINK_LIST_MEMBERSHIPS`).
fn groups(socket: &OwnedFd) -> io::Result<Vec<u32>> {
    // The kernel has some 40 groups of routing netlink, a bit for each.
    let mut words = [0_u32; 8];
    let mut length = size_of_val(&words) as libc::socklen_t;
    // SAFETY: both places are this function's own, and of the lengths that are given.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_NETLINK,
            libc::NETLINK_LIST_MEMBERSHIPS,
            words.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_in = |group: u32| words[(group / 32) as usize] >> (group % 32) & 1 == 1;
    Ok((0..words.len() as u32 * 32).filter(|&group| is_in(group)).map(|group| group + 1).collect())
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
