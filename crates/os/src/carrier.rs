//! Waiting until a network card has its link.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

use crate::poll::{self, Want};

/// Waits until every card has a carrier; the first that has none at the deadline otherwise.
///
/// Every change of a link is announced to this socket's group (rtnetlink(7), `RTMGRP_LINK`).
pub fn wait(cards: &[&str], patience: Duration) -> io::Result<Result<(), String>> {
    let kind = (SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
    let changes: OwnedFd = socket(AddressFamily::Netlink, kind.0, kind.1, kind.2)?;
    bind(changes.as_raw_fd(), &NetlinkAddr::new(0, libc::RTMGRP_LINK.cast_unsigned()))?;
    let deadline = Instant::now() + patience;
    let mut announced = [0; 16 << 10];
    loop {
        let Some(down) = cards.iter().find(|card| !has_carrier(card)) else { return Ok(Ok(())) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err((*down).to_owned()));
        }
        if poll::wait(&[(changes.as_fd(), Want::Read)], Some(left))?[0] {
            // What changed is read from the cards themselves.
            recv(changes.as_raw_fd(), &mut announced, MsgFlags::MSG_DONTWAIT)?;
        }
    }
}

/// A card that is not up yet has no such file to read.
fn has_carrier(card: &str) -> bool {
    fs::read_to_string(format!("/sys/class/net/{card}/carrier"))
        .is_ok_and(|carrier| carrier.trim() == "1")
}
