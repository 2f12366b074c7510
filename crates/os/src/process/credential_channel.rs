//! Messages from a lab's processes to its keeper. The kernel adds the sender's pid, translated into the
//! keeper's PID namespace (unix(7), `SCM_CREDENTIALS`).

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, recvmsg, sendmsg,
    setsockopt, socketpair, sockopt,
};

use crate::files::poll;

/// The sending end, which the lab's processes share.
#[derive(Debug)]
pub struct Sender(OwnedFd);

/// The receiving end, which the keeper holds.
#[derive(Debug)]
pub struct Receiver(OwnedFd);

/// A message and its sender.
#[derive(Debug)]
pub struct Message {
    /// The sender's pid as the receiver sees it.
    pub pid: i32,
    /// The message, at most 64 KiB.
    pub bytes: Vec<u8>,
}

/// Create a channel and return both ends, close-on-exec.
pub fn channel() -> io::Result<(Sender, Receiver)> {
    let (sender, receiver) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    setsockopt(&receiver, sockopt::PassCred, &true)?;
    Ok((Sender(sender), Receiver(receiver)))
}

impl Sender {
    /// Send one message. Blocks while the channel is full.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.transmit(bytes, MsgFlags::MSG_NOSIGNAL)
    }

    /// Send one message, or fail if the channel is full.
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<()> {
        self.transmit(bytes, MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT)
    }

    fn transmit(&self, bytes: &[u8], flags: MsgFlags) -> io::Result<()> {
        let parts = [IoSlice::new(bytes)];
        sendmsg::<UnixAddr>(self.0.as_raw_fd(), &parts, &[], flags, None)?;
        Ok(())
    }

    /// Return true once the receiving end is closed.
    pub fn is_abandoned(&self) -> io::Result<bool> {
        let on = [(self.0.as_fd(), poll::Interest::End)];
        Ok(poll::wait(&on, Some(std::time::Duration::ZERO))?[0])
    }
}

impl Receiver {
    /// Block until the next message; return `None` once all senders are gone.
    pub fn receive(&self) -> io::Result<Option<Message>> {
        let mut bytes = vec![0; 64 << 10];
        let mut space = nix::cmsg_space!(libc::ucred);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let message = recvmsg::<UnixAddr>(
            self.0.as_raw_fd(),
            &mut parts,
            Some(&mut space),
            MsgFlags::MSG_CMSG_CLOEXEC,
        )?;
        let pid = message.cmsgs()?.find_map(|part| match part {
            ControlMessageOwned::ScmCredentials(sender) => Some(sender.pid()),
            _ => None,
        });
        let length = message.bytes;
        bytes.truncate(length);
        Ok(if length == 0 { None } else { Some(Message { pid: pid.unwrap_or(0), bytes }) })
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
