//! File descriptors: read, written, made as pairs, and passed to other processes.

use std::fs::OpenOptions;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    recvmsg, sendmsg, socketpair,
};
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout};

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

/// Take ownership of a descriptor that this process was started with. Call it only once for each number.
/// Fails with `EBADF` if the number is not open.
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    fcntl(
        // SAFETY: the number is only asked about; a closed one is an error.
        unsafe { BorrowedFd::borrow_raw(number) },
        FcntlArg::F_GETFD,
    )?;
    // SAFETY: it is open, and was handed to this process under this number for it to own.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Send a descriptor by a Unix socket, along with one byte (unix(7), `SCM_RIGHTS`). Does not block: if the
/// peer's buffer is full the error is `WouldBlock`.
pub fn send_descriptor(by: BorrowedFd<'_>, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let carried = [descriptor.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&carried)];
    let byte = [IoSlice::new(&[0])];
    let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
    sendmsg::<UnixAddr>(by.as_raw_fd(), &byte, &rights, flags, None)?;
    Ok(())
}

/// The result of [`receive_descriptor`].
#[derive(Debug)]
pub enum Received {
    /// A descriptor, close-on-exec.
    Descriptor(OwnedFd),
    /// A byte without a descriptor: none was sent, or this process has too many files open.
    Nothing,
    /// The end of the stream: the peer has closed it.
    End,
}

/// Block until a descriptor arrives that [`send_descriptor`] sent.
pub fn receive_descriptor(by: BorrowedFd<'_>) -> io::Result<Received> {
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!(RawFd);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<UnixAddr>(by.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    if message.bytes == 0 {
        return Ok(Received::End);
    }
    // The kernel has closed descriptors for which the buffer had no room.
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

/// Create a pipe (pipe(2)), close-on-exec. Return the read end and the write end, in this order.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(OFlag::O_CLOEXEC)?)
}

/// Create a connected pair of Unix stream sockets (socketpair(2)), close-on-exec. Return both ends.
pub fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let kind = (AddressFamily::Unix, SockType::Stream);
    Ok(socketpair(kind.0, kind.1, None, SockFlag::SOCK_CLOEXEC)?)
}

/// Redirect standard input, output and error to `/dev/null`. Fails if that cannot be opened.
pub fn detach_stdio() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

/// Take `/dev/null` as standard input, and a descriptor as standard output and error.
pub fn print_to(output: &OwnedFd) -> io::Result<()> {
    dup2_stdin(OpenOptions::new().read(true).open("/dev/null")?)?;
    dup2_stdout(output)?;
    dup2_stderr(output)?;
    Ok(())
}
