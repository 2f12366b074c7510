//! Kernel notifications about interfaces, qdiscs and filters (rtnetlink(7)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// The multicast group of traffic control changes (`RTMGRP_TC` in linux/rtnetlink.h).
const RTMGRP_TC: u32 = 8;

/// A socket that becomes readable once an interface, qdisc or filter of its network namespace has changed.
#[derive(Debug)]
pub struct Announced(OwnedFd);

impl Announced {
    /// Subscribe to the notifications of the current network namespace.
    pub fn open() -> io::Result<Self> {
        let kind = (SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
        let socket = socket(AddressFamily::Netlink, kind.0, kind.1, kind.2)?;
        let groups = libc::RTMGRP_LINK.cast_unsigned() | RTMGRP_TC;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
        Ok(Self(socket))
    }

    /// Discard all pending notifications: the caller reads the current state from the kernel itself.
    pub fn clear(&self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        loop {
            match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                // ENOBUFS: the socket overflowed and lost notifications, which does not matter here.
                Ok(_) | Err(Errno::ENOBUFS | Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Announced {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
