//! Reads and writes of file descriptors that do not wait.

use std::io;
use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Make reads and writes return `WouldBlock` instead of waiting (open(2), `O_NONBLOCK`), for all descriptors
/// of the same open file.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Read the available bytes into `buffer` and return their number. Return `Ok(None)` if there are none yet
/// and `Ok(Some(0))` at the end. A terminal reports its end as an error (EIO); here it is an end like any
/// other.
pub fn read_some(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match nix::unistd::read(fd, buffer) {
        Ok(count) => Ok(Some(count)),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
        Err(Errno::EIO) => Ok(Some(0)),
        Err(error) => Err(error.into()),
    }
}

/// Write as many bytes as there is room for and return their number. Return `Ok(None)` if there is no room.
/// Fails with `EPIPE` if nobody can read them any more.
pub fn write_some(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    match nix::unistd::write(fd, bytes) {
        Ok(count) => Ok(Some(count)),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
