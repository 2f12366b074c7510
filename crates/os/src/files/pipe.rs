//! Pipes and socket pairs.

use std::io;
use std::os::fd::OwnedFd;

use nix::fcntl::OFlag;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

/// Create a pipe (pipe(2)), close-on-exec. Return the read end and the write end, in this order.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(OFlag::O_CLOEXEC)?)
}

/// Create a connected pair of Unix stream sockets (socketpair(2)), close-on-exec. Return both ends.
pub fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    let kind = (AddressFamily::Unix, SockType::Stream);
    Ok(socketpair(kind.0, kind.1, None, SockFlag::SOCK_CLOEXEC)?)
}
