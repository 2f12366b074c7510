//! What the kernel announces about interfaces and queues (rtnetlink(7)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// linux/rtnetlink.h, `RTMGRP_TC`.
const RTMGRP_TC: u32 = 8;

/// Readable once an interface, a queue or a filter of its network namespace was changed.
#[derive(Debug)]
pub struct Announced(OwnedFd);

impl Announced {
    /// Listens in the current network namespace.
    pub fn open() -> io::Result<Self> {
        let kind = (SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
        let socket = socket(AddressFamily::Netlink, kind.0, kind.1, kind.2)?;
        let groups = libc::RTMGRP_LINK.cast_unsigned() | RTMGRP_TC;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
        Ok(Self(socket))
    }

    /// Forgets what was announced so far: what is there now is read from the kernel itself.
    pub fn clear(&self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        loop {
            match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                // More was announced than the socket holds: it is gone, but for that.
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
