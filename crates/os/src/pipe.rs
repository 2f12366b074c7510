//! Descriptors that do not block.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Makes reads and writes return `WouldBlock` instead of waiting.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Reads what is there into `buffer`: `Ok(None)` if nothing is yet, `Ok(Some(0))` at the end.
/// The end of a terminal, which is an error by its nature, is an end.
pub fn read_some(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match nix::unistd::read(fd, buffer) {
        Ok(count) => Ok(Some(count)),
        Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => Ok(None),
        Err(nix::errno::Errno::EIO) => Ok(Some(0)),
        Err(error) => Err(error.into()),
    }
}

/// Writes what there is room for: `Ok(None)` if there is none.
pub fn write_some(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    match nix::unistd::write(fd, bytes) {
        Ok(count) => Ok(Some(count)),
        Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A pipe, both ends close-on-exec: (to read, to write).
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(OFlag::O_CLOEXEC)?)
}

/// Connects standard input, output and error to nothing.
pub fn detach_stdio() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    nix::unistd::dup2_stdin(&null)?;
    nix::unistd::dup2_stdout(&null)?;
    nix::unistd::dup2_stderr(&null)?;
    Ok(())
}
