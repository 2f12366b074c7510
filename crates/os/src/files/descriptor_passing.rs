//! File descriptors from one process to another.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};

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
