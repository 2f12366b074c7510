//! Messages from a lab's processes to its keeper. The kernel adds the sender's pid,
//! translated into the keeper's pid namespace (unix(7), `SCM_CREDENTIALS`).

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, recvmsg, sendmsg,
    setsockopt, socketpair, sockopt,
};

/// The end that the lab's processes share.
#[derive(Debug)]
pub struct Sender(OwnedFd);

/// The keeper's end.
#[derive(Debug)]
pub struct Receiver(OwnedFd);

/// One message and who sent it.
#[derive(Debug)]
pub struct Message {
    /// As the receiver sees it.
    pub pid: i32,
    /// At most 64 KiB.
    pub bytes: Vec<u8>,
}

/// Both ends of a new channel, close-on-exec.
pub fn channel() -> io::Result<(Sender, Receiver)> {
    let (sender, receiver) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    setsockopt(&receiver, sockopt::PassCred, &true)?;
    Ok((Sender(sender), Receiver(receiver)))
}

impl Sender {
    /// Sends one message; waits while the channel is full.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.transmit(bytes, MsgFlags::MSG_NOSIGNAL)
    }

    /// Sends one message, or none if the channel is full.
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<()> {
        self.transmit(bytes, MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT)
    }

    fn transmit(&self, bytes: &[u8], flags: MsgFlags) -> io::Result<()> {
        let parts = [IoSlice::new(bytes)];
        sendmsg::<UnixAddr>(self.0.as_raw_fd(), &parts, &[], flags, None)?;
        Ok(())
    }

    /// True once the receiver's end is closed.
    pub fn is_abandoned(&self) -> io::Result<bool> {
        let on = [(self.0.as_fd(), crate::poll::Want::End)];
        Ok(crate::poll::wait(&on, Some(std::time::Duration::ZERO))?[0])
    }
}

impl Receiver {
    /// The next message; `None` once all senders are gone.
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
