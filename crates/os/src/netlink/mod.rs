//! rtnetlink(7): requests to the kernel about interfaces, routes and queueing disciplines, and its
//! notifications of their changes.
//!
//! `netlink-packet-core` and `netlink-packet-route` build the requests and read the answers. Own code remains
//! where they have none: the text of an extended acknowledgement ([`Refusal`]) and a qdisc's packets in 64
//! bits ([`qdiscs`]). An attribute that these crates cannot read is skipped rather than an error, because
//! kernels newer than the crates add and extend attributes.

pub mod changes;
pub mod forwarding;
pub mod interface;
pub mod qdiscs;
pub mod routing;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use netlink_packet_core::{
    Emitable, ErrorBuffer, NLM_F_ACK_TLVS, NLM_F_CAPPED, NLM_F_DUMP, NLM_F_REQUEST, NLMSG_ALIGNTO,
    NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NlaBuffer, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    setsockopt, socket, sockopt,
};

use crate::socket::option::set_option;

/// The size of the socket's send buffer in bytes. It holds several batches of requests.
const SEND_BUFFER: usize = 1 << 20;
/// The size of a receive buffer in bytes. The kernel fills datagrams of a dump up to 32 KiB.
const RECEIVE_BUFFER: usize = 64 << 10;

/// A socket in the network namespace in which it was opened, even if its process moves to another one.
#[derive(Debug)]
pub struct RouteSocket(OwnedFd);

impl RouteSocket {
    /// Open a socket in the current network namespace. The kernel's errors will have a text
    /// (`NETLINK_EXT_ACK`) and, of the request, only its header (`NETLINK_CAP_ACK`).
    pub fn open() -> io::Result<Self> {
        let fd = open_socket()?;
        setsockopt(&fd, sockopt::SndBuf, &SEND_BUFFER)?;
        for option in [libc::NETLINK_CAP_ACK, libc::NETLINK_EXT_ACK] {
            set_option(fd.as_raw_fd(), libc::SOL_NETLINK, option, &1i32)?;
        }
        Ok(Self(fd))
    }

    /// Request all objects that `question` asks for (`NLM_F_DUMP`), and return the payload of each answer.
    /// Blocks until the last answer.
    pub(super) fn dump(&self, question: RouteNetlinkMessage) -> io::Result<Vec<Vec<u8>>> {
        let request = encoded(question, NLM_F_DUMP);
        send(self.0.as_raw_fd(), &request, MsgFlags::empty())?;
        let mut buffer = vec![0; RECEIVE_BUFFER];
        let mut found = Vec::new();
        loop {
            let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            for message in messages(&buffer[..length]) {
                match message.message_type() {
                    NLMSG_DONE => return Ok(found),
                    NLMSG_ERROR => return Err(refused(message.payload())),
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

/// The size of the receive buffer in bytes.
const BUFFER: usize = 32 << 10;

/// Send a request in the current network namespace and return the payload of the answer, which is expected to
/// be of this message type (`RTM_…`, rtnetlink(7)). Fail with the kernel's error, or with `EPROTO` if the
/// answer is another one.
pub(super) fn ask(question: RouteNetlinkMessage, expected: u16) -> io::Result<Vec<u8>> {
    let socket = open_socket()?;
    send(socket.as_raw_fd(), &encoded(question, 0), MsgFlags::empty())?;
    let mut buffer = vec![0; BUFFER];
    let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
    let protocol_error = |_| io::Error::from_raw_os_error(libc::EPROTO);
    let answer = NetlinkBuffer::new_checked(&buffer[..length]).map_err(protocol_error)?;
    match answer.message_type() {
        kind if kind == expected => Ok(answer.payload().to_vec()),
        NLMSG_ERROR => Err(refused(answer.payload())),
        _ => Err(io::Error::from_raw_os_error(libc::EPROTO)),
    }
}

/// Serialize one request. `flags` are `NLM_F_…` beside `NLM_F_REQUEST`.
pub(super) fn encoded(message: RouteNetlinkMessage, flags: u16) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Split a datagram into its messages, up to the first that is malformed or cut.
pub(super) fn messages(mut datagram: &[u8]) -> impl Iterator<Item = NetlinkBuffer<&[u8]>> {
    std::iter::from_fn(move || {
        let message = NetlinkBuffer::new_checked(datagram).ok()?;
        let length = (message.length() as usize).next_multiple_of(NLMSG_ALIGNTO.into());
        datagram = datagram.get(length..).unwrap_or_default();
        Some(message)
    })
}

/// Return the attributes of a message behind its family's header, up to the first that is malformed or cut.
pub(super) fn attributes<'a>(
    payload: &'a [u8],
    header: &impl Emitable,
) -> impl Iterator<Item = NlaBuffer<&'a [u8]>> {
    let behind = payload.get(header.buffer_len()..).unwrap_or_default();
    NlasIterator::new(behind).map_while(Result::ok)
}

/// The length of a netlink header in bytes.
const HEADER: usize = size_of::<libc::nlmsghdr>();
/// The attribute with the text of an extended acknowledgement (linux/netlink.h, `enum nlmsgerr_attrs`).
const NLMSGERR_ATTR_MSG: u16 = 1;

/// The kernel's answer to one request: an error, or an acknowledgement if `errno` is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The request's sequence number.
    pub sequence: u32,
    /// The error number, see errno(3).
    pub errno: i32,
    /// The kernel's own error text, often empty.
    pub message: String,
}

impl Refusal {
    /// Return the cause in words, e.g. `File exists`, followed by the kernel's own text if there is one.
    pub fn why(&self) -> String {
        let text = Errno::from_raw(self.errno).desc();
        if self.message.is_empty() { text.into() } else { format!("{text}: {}", self.message) }
    }

    /// Return the errors and acknowledgements of a datagram; other messages are skipped.
    pub(super) fn all(datagram: &[u8]) -> impl Iterator<Item = Self> {
        messages(datagram).filter(|message| message.message_type() == NLMSG_ERROR).filter_map(
            |message| {
                let request = ErrorBuffer::new_checked(message.payload()).ok()?.payload();
                (request.len() >= HEADER).then_some(())?;
                Some(Self {
                    sequence: message.sequence_number(),
                    errno: errno(message.payload())?,
                    message: text(&message, request).unwrap_or_default(),
                })
            },
        )
    }
}

/// Return the error of an `NLMSG_ERROR` message with this payload; `EPROTO` if it is cut.
pub(super) fn refused(payload: &[u8]) -> io::Error {
    io::Error::from_raw_os_error(errno(payload).unwrap_or(libc::EPROTO))
}

fn errno(payload: &[u8]) -> Option<i32> {
    let error = ErrorBuffer::new_checked(payload).ok()?;
    Some(error.code().map_or(0, |code| code.get().saturating_neg()))
}

/// Return the text of an extended acknowledgement (`NETLINK_EXT_ACK`). It is in an attribute behind the copy
/// of the request, which is the request's header alone if the message is capped (`NETLINK_CAP_ACK`).
fn text(message: &NetlinkBuffer<&[u8]>, request: &[u8]) -> Option<String> {
    if message.flags() & NLM_F_ACK_TLVS == 0 {
        return None;
    }
    let capped = message.flags() & NLM_F_CAPPED != 0;
    let copied = if capped { HEADER } else { NetlinkBuffer::new(request).length() as usize };
    let attributes = request.get(copied.next_multiple_of(NLMSG_ALIGNTO.into())..)?;
    let mut attributes = NlasIterator::new(attributes).map_while(Result::ok);
    let text = attributes.find(|attribute| attribute.kind() == NLMSGERR_ATTR_MSG)?;
    Some(String::from_utf8_lossy(text.value()).trim_end_matches('\0').into())
}

/// The size in bytes of a buffer for notifications whose contents do not matter. Longer ones are cut.
pub(super) const NOTIFICATION: usize = 16 << 10;

/// Open a socket in the current network namespace, close-on-exec. It stays in that namespace.
fn open_socket() -> io::Result<OwnedFd> {
    let protocol = SockProtocol::NetlinkRoute;
    Ok(socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?)
}

/// Open a socket that receives the current network namespace's notifications. `groups` is a bit mask of
/// multicast groups (`RTMGRP_…` of linux/rtnetlink.h).
pub(super) fn subscribe(groups: libc::c_int) -> io::Result<OwnedFd> {
    let socket = open_socket()?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups.cast_unsigned()))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::NLM_F_DUMP;
    use netlink_packet_route::link::LinkMessage;
    use netlink_packet_route::tc::{TcHandle, TcMessage};

    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn requests_are_these_bytes() {
        let mut link = LinkMessage::default();
        link.header.index = 7;
        let kind = u32::from(libc::RTM_GETLINK);
        let expected = words(&[32, kind | 1 << 16, 0, 0, 0, 7, 0, 0]);
        assert_eq!(encoded(RouteNetlinkMessage::GetLink(link), 0), expected);

        let mut filters = TcMessage::with_index(7);
        filters.header.parent = TcHandle { major: u16::MAX, minor: TcHandle::MIN_INGRESS };
        let kind = u32::from(libc::RTM_GETTFILTER);
        let expected = words(&[36, kind | 0x301 << 16, 0, 0, 0, 7, 0, 0xffff_fff2, 0]);
        assert_eq!(encoded(RouteNetlinkMessage::GetTrafficFilter(filters), NLM_F_DUMP), expected);
    }

    /// Build an `NLMSG_ERROR` message: header, error, copy of the request, attributes.
    fn message(flags: u16, errno: i32, request: &[u8], attributes: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes.extend(errno.to_ne_bytes());
        bytes.extend(request);
        bytes.extend(attributes);
        let length = bytes.len() as u32;
        let mut header = NetlinkBuffer::new(&mut bytes);
        header.set_length(length);
        header.set_message_type(NLMSG_ERROR);
        header.set_flags(flags);
        header.set_sequence_number(7);
        bytes
    }

    fn request(body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.resize(HEADER, 0);
        bytes.extend(body);
        bytes
    }

    /// An attribute with an offset (kind 2), then one with a text that ends in a zero byte.
    const TEXT: &[u8] = b"\x08\0\x02\0\x04\0\0\0\x09\0\x01\0Busy\0\0\0\0";

    #[test]
    fn the_kernel_s_own_text_is_read_behind_a_whole_or_a_capped_request() {
        let expected = Refusal { sequence: 7, errno: libc::EBUSY, message: "Busy".into() };
        let capped = message(NLM_F_ACK_TLVS | NLM_F_CAPPED, -libc::EBUSY, &request(b""), TEXT);
        let whole = message(NLM_F_ACK_TLVS, -libc::EBUSY, &request(b"body"), TEXT);
        for datagram in [capped, whole] {
            let read: Vec<Refusal> = Refusal::all(&datagram).collect();
            assert_eq!(read, std::slice::from_ref(&expected));
        }
        assert_eq!(expected.why(), format!("{}: Busy", Errno::EBUSY.desc()));
    }

    #[test]
    fn every_message_of_a_datagram_is_read() {
        let done = message(NLM_F_CAPPED, 0, &request(b""), b"");
        let refused = message(NLM_F_CAPPED, -libc::EEXIST, &request(b""), b"");
        let datagram = [done, refused.clone(), refused[..30].to_vec()].concat();
        let errors: Vec<i32> = Refusal::all(&datagram).map(|refusal| refusal.errno).collect();
        assert_eq!(errors, [0, libc::EEXIST]);
    }

    #[test]
    fn an_error_message_that_is_cut_is_a_protocol_error() {
        assert_eq!(refused(&(-libc::ENODEV).to_ne_bytes()).raw_os_error(), Some(libc::ENODEV));
        assert_eq!(refused(&[0; 3]).raw_os_error(), Some(libc::EPROTO));
    }
}
