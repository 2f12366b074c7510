//! The outcome of a TCP handshake that a probe began.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;

use super::icmp_errors::IcmpErrors;
use super::socket::describe;

/// The error of a connection whose SYN was answered by a reset.
const RESET: i32 = Errno::ECONNREFUSED as i32;

/// The outcome of a handshake.
#[derive(Debug)]
pub(super) enum Handshake {
    Open,
    /// The port is closed: a reset has answered the SYN.
    Closed,
    Failed(String),
}

/// Return the outcome of a handshake whose socket has this result.
pub(super) fn outcome(result: io::Result<()>, fd: &OwnedFd, errors: &mut IcmpErrors) -> Handshake {
    match result {
        Ok(()) => Handshake::Open,
        Err(error) => match (errors.cause(fd.as_fd()), error.raw_os_error()) {
            (Some(cause), _) => Handshake::Failed(describe(cause)),
            (None, Some(RESET)) => Handshake::Closed,
            (None, _) => Handshake::Failed(error.to_string()),
        },
    }
}
