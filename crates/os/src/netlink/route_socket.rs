//! A NETLINK_ROUTE socket that sends many requests in one system call.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use netlink_packet_core::{NLM_F_DUMP, NLMSG_DONE, NLMSG_ERROR};
use netlink_packet_route::RouteNetlinkMessage;
use nix::sys::socket::{MsgFlags, recv, send, setsockopt, sockopt};

use super::message::{self, messages};
use super::raw_socket;
use super::refusal::{self, Refusal};
use crate::socket::option::set_option;

/// The size of the socket's send buffer in bytes. It holds several batches of requests.
const SEND_BUFFER: usize = 1 << 20;
/// The size of a receive buffer in bytes. The kernel fills datagrams of a dump up to 32 KiB.
const RECEIVE_BUFFER: usize = 64 << 10;

/// A socket in the network namespace in which it was opened, even if its process moves to another one.
#[derive(Debug)]
pub struct Route(OwnedFd);

impl Route {
    /// Open a socket in the current network namespace. The kernel's errors will have a text
    /// (`NETLINK_EXT_ACK`) and, of the request, only its header (`NETLINK_CAP_ACK`).
    pub fn open() -> io::Result<Self> {
        let fd = raw_socket::open()?;
        setsockopt(&fd, sockopt::SndBuf, &SEND_BUFFER)?;
        for option in [libc::NETLINK_CAP_ACK, libc::NETLINK_EXT_ACK] {
            set_option(fd.as_raw_fd(), libc::SOL_NETLINK, option, &1i32)?;
        }
        Ok(Self(fd))
    }

    /// Request all objects that `question` asks for (`NLM_F_DUMP`), and return the payload of each answer.
    /// Blocks until the last answer.
    pub(super) fn dump(&self, question: RouteNetlinkMessage) -> io::Result<Vec<Vec<u8>>> {
        let request = message::request(question, NLM_F_DUMP);
        send(self.0.as_raw_fd(), &request, MsgFlags::empty())?;
        let mut buffer = vec![0; RECEIVE_BUFFER];
        let mut found = Vec::new();
        loop {
            let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            for message in messages(&buffer[..length]) {
                match message.message_type() {
                    NLMSG_DONE => return Ok(found),
                    NLMSG_ERROR => return Err(refusal::error(message.payload())),
                    _ => found.push(message.payload().to_vec()),
                }
            }
        }
    }

    /// Send serialised requests, only the last of which asks for an acknowledgement, and return the first
    /// error. `last` is the last request's sequence number. The kernel has processed all requests when this
    /// returns; it does not stop at one that fails.
    pub fn request(&self, batch: &[u8], last: u32) -> io::Result<Option<Refusal>> {
        send(self.0.as_raw_fd(), batch, MsgFlags::empty())?;
        let mut buffer = vec![0; RECEIVE_BUFFER];
        let mut first = None;
        loop {
            let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            for answer in Refusal::all(&buffer[..length]) {
                let sequence = answer.sequence;
                if answer.errno != 0 && first.is_none() {
                    first = Some(answer);
                }
                if sequence == last {
                    return Ok(first);
                }
            }
        }
    }
}
