//! The process at the other end of a Unix socket (unix(7), `SO_PEERCRED`).

use std::io;
use std::os::fd::AsFd;

use nix::sys::socket::{getsockopt, sockopt};

/// Return the user id of the process that connected, or that listens, at the other end: as of that moment, in
/// the user ids of this process's user namespace.
pub fn user(socket: &impl AsFd) -> io::Result<u32> {
    Ok(getsockopt(socket, sockopt::PeerCredentials)?.uid())
}

/// Fail with `PermissionDenied` unless the process at the other end belongs to this process's user.
pub fn require_own(socket: &impl AsFd) -> io::Result<()> {
    let (peer, own) = (user(socket)?, nix::unistd::geteuid().as_raw());
    if peer == own {
        return Ok(());
    }
    let why = format!("the other end belongs to user {peer}, this process to user {own}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}
