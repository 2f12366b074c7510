//! Notifications of changes to interfaces and their queueing disciplines.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use crate::files::poll::{self, Interest};
use crate::netlink;

/// A socket that becomes readable once an interface, qdisc or filter of its network namespace has changed.
#[derive(Debug)]
pub struct ChangeMonitor(OwnedFd);

impl ChangeMonitor {
    /// Subscribe to the rtnetlink notifications of the current network namespace.
    pub fn open() -> io::Result<Self> {
        Ok(Self(netlink::subscribe(libc::RTMGRP_LINK | libc::RTMGRP_TC)?))
    }

    /// Discard all pending notifications: the caller reads the current state from the kernel itself.
    pub fn clear(&self) -> io::Result<()> {
        let mut buffer = [0; netlink::NOTIFICATION];
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

/// Wait until `found` returns something; call it again after every change of any interface of this network
/// namespace. Return `None` once `patience` is over.
///
/// The kernel announces changes to a multicast group (rtnetlink(7), `RTMGRP_LINK`).
pub fn wait_for_link<T>(
    patience: Duration,
    mut found: impl FnMut() -> Option<T>,
) -> io::Result<Option<T>> {
    let changes = netlink::subscribe(libc::RTMGRP_LINK)?;
    let deadline = Instant::now() + patience;
    let mut notification = [0; netlink::NOTIFICATION];
    loop {
        if let Some(found) = found() {
            return Ok(Some(found));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if poll::wait(&[(changes.as_fd(), Interest::Read)], Some(left))?[0] {
            // The notification's contents do not matter: `found` reads the state of the cards themselves.
            recv(changes.as_raw_fd(), &mut notification, MsgFlags::MSG_DONTWAIT)?;
        }
    }
}
