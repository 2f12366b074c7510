//! Pipes and socket pairs.

use std::io;
use std::os::fd::OwnedFd;

use nix::fcntl::OFlag;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

/// Create a pipe (read end, write end), both ends close-on-exec.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(OFlag::O_CLOEXEC)?)
}

/// Create a connected pair of stream sockets, close-on-exec.
pub fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    let kind = (AddressFamily::Unix, SockType::Stream);
    Ok(socketpair(kind.0, kind.1, None, SockFlag::SOCK_CLOEXEC)?)
}
