//! Waiting for network cards: until they are there, and until they have their links.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

use crate::poll::{self, Want};

/// Waits until `found` finds something, asked again after every change of any interface; `None`
/// if it has not in time.
///
/// Changes are announced to this socket's group (rtnetlink(7), `RTMGRP_LINK`).
pub fn wait<T>(patience: Duration, mut found: impl FnMut() -> Option<T>) -> io::Result<Option<T>> {
    let kind = (SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
    let changes: OwnedFd = socket(AddressFamily::Netlink, kind.0, kind.1, kind.2)?;
    bind(changes.as_raw_fd(), &NetlinkAddr::new(0, libc::RTMGRP_LINK.cast_unsigned()))?;
    let deadline = Instant::now() + patience;
    let mut announced = [0; 16 << 10];
    loop {
        if let Some(found) = found() {
            return Ok(Some(found));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if poll::wait(&[(changes.as_fd(), Want::Read)], Some(left))?[0] {
            // What changed is read from the cards themselves.
            recv(changes.as_raw_fd(), &mut announced, MsgFlags::MSG_DONTWAIT)?;
        }
    }
}

/// Whether an interface has its link. One that is not up yet has no such file to read.
#[must_use]
pub fn has_carrier(name: &str) -> bool {
    fs::read_to_string(format!("/sys/class/net/{name}/carrier"))
        .is_ok_and(|carrier| carrier.trim() == "1")
}
