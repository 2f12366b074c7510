//! Notifications of the kernel about changes of interfaces, qdiscs and filters.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use super::raw_socket;

/// A socket that becomes readable once an interface, qdisc or filter of its network namespace has changed.
#[derive(Debug)]
pub struct ChangeMonitor(OwnedFd);

impl ChangeMonitor {
    /// Subscribe to the rtnetlink notifications of the current network namespace.
    pub fn open() -> io::Result<Self> {
        Ok(Self(raw_socket::subscribe(libc::RTMGRP_LINK | libc::RTMGRP_TC)?))
    }

    /// Discard all pending notifications: the caller reads the current state from the kernel itself.
    pub fn clear(&self) -> io::Result<()> {
        let mut buffer = [0; raw_socket::NOTIFICATION];
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

impl AsFd for ChangeMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
