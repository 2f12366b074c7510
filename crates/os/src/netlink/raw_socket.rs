//! Plain NETLINK_ROUTE sockets (rtnetlink(7)).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, socket,
};

/// The size in bytes of a buffer for notifications whose contents do not matter. Longer ones are cut.
pub(super) const NOTIFICATION: usize = 16 << 10;

/// Open a socket in the current network namespace, close-on-exec. It stays in that namespace.
pub(super) fn open() -> io::Result<OwnedFd> {
    let protocol = SockProtocol::NetlinkRoute;
    Ok(socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?)
}

/// Open a socket that receives the current network namespace's notifications. `groups` is a bit mask of
/// multicast groups (`RTMGRP_…` of linux/rtnetlink.h).
pub(super) fn subscribe(groups: libc::c_int) -> io::Result<OwnedFd> {
    let socket = open()?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups.cast_unsigned()))?;
    Ok(socket)
}
