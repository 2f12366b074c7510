//! One request to the kernel that has one answer, on a socket of its own.

use std::io;
use std::os::fd::AsRawFd;

use netlink_packet_core::{NLMSG_ERROR, NetlinkBuffer};
use netlink_packet_route::RouteNetlinkMessage;
use nix::sys::socket::{MsgFlags, recv, send};

use super::{message, raw_socket, refusal};

/// The size of the receive buffer in bytes.
const BUFFER: usize = 32 << 10;

/// Send a request in the current network namespace and return the payload of the answer, which is expected to
/// be of this message type (`RTM_…`, rtnetlink(7)). Fail with the kernel's error, or with `EPROTO` if the
/// answer is another one.
pub(super) fn ask(question: RouteNetlinkMessage, expected: u16) -> io::Result<Vec<u8>> {
    let socket = raw_socket::open()?;
    send(socket.as_raw_fd(), &message::request(question, 0), MsgFlags::empty())?;
    let mut buffer = vec![0; BUFFER];
    let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
    let protocol_error = |_| io::Error::from_raw_os_error(libc::EPROTO);
    let answer = NetlinkBuffer::new_checked(&buffer[..length]).map_err(protocol_error)?;
    match answer.message_type() {
        kind if kind == expected => Ok(answer.payload().to_vec()),
        NLMSG_ERROR => Err(refusal::error(answer.payload())),
        _ => Err(io::Error::from_raw_os_error(libc::EPROTO)),
    }
}
