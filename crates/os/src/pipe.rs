//! Descriptors: those that do not block, pairs of them, and their way to other processes.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    recvmsg, sendmsg, socketpair,
};

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

/// Two ends of a stream in both directions, close-on-exec.
pub fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    let kind = (AddressFamily::Unix, SockType::Stream);
    Ok(socketpair(kind.0, kind.1, None, SockFlag::SOCK_CLOEXEC)?)
}

/// A descriptor that this process was started with, by its number. Only once for each.
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    fcntl(
        // SAFETY: the number is only asked about; a closed one is an error.
        unsafe { BorrowedFd::borrow_raw(number) },
        FcntlArg::F_GETFD,
    )?;
    // SAFETY: it is open, and was handed to this process under this number for it to own.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Sends a descriptor by a Unix socket, with one byte that carries it (unix(7), `SCM_RIGHTS`). Does not wait:
/// a peer that reads nothing is `WouldBlock`.
pub fn send_descriptor(by: BorrowedFd<'_>, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let carried = [descriptor.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&carried)];
    let byte = [IoSlice::new(&[0])];
    let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
    sendmsg::<UnixAddr>(by.as_raw_fd(), &byte, &rights, flags, None)?;
    Ok(())
}

/// What came by [`receive_descriptor`].
#[derive(Debug)]
pub enum Received {
    /// A descriptor, close-on-exec.
    Descriptor(OwnedFd),
    /// A byte whose descriptor is missing: none was sent, or this process has too many open.
    Nothing,
    /// The end: the peer has gone.
    End,
}

/// Waits for a descriptor that was sent by [`send_descriptor`].
pub fn receive_descriptor(by: BorrowedFd<'_>) -> io::Result<Received> {
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!(RawFd);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<UnixAddr>(by.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    if message.bytes == 0 {
        return Ok(Received::End);
    }
    // What had no room is no descriptor: the kernel has closed it already.
    let received = message.cmsgs().ok().and_then(|mut parts| {
        parts.find_map(|part| match part {
            ControlMessageOwned::ScmRights(descriptors) => descriptors.first().copied(),
            _ => None,
        })
    });
    // SAFETY: the kernel just made this descriptor for us, it is nobody else's.
    let owned = received.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) });
    Ok(owned.map_or(Received::Nothing, Received::Descriptor))
}

/// Connects standard input, output and error to nothing.
pub fn detach_stdio() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    nix::unistd::dup2_stdin(&null)?;
    nix::unistd::dup2_stdout(&null)?;
    nix::unistd::dup2_stderr(&null)?;
    Ok(())
}
