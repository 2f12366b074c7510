//! Waiting for a condition that depends on interfaces.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{MsgFlags, recv};

use super::raw_socket;
use crate::files::poll::{self, Interest};

/// Wait until `found` returns something; call it again after every change of any interface of this network
/// namespace. Return `None` once `patience` is over.
///
/// The kernel announces changes to a multicast group (rtnetlink(7), `RTMGRP_LINK`).
pub fn wait<T>(patience: Duration, mut found: impl FnMut() -> Option<T>) -> io::Result<Option<T>> {
    let changes = raw_socket::subscribe(libc::RTMGRP_LINK)?;
    let deadline = Instant::now() + patience;
    let mut notification = [0; raw_socket::NOTIFICATION];
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
