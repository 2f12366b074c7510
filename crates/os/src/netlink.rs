//! A NETLINK_ROUTE socket that sends many requests in one system call.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
    sockopt,
};

const HEADER: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSGERR_ATTR_MSG: u16 = 1;
const NETLINK_CAP_ACK: libc::c_int = 10;
const NETLINK_EXT_ACK: libc::c_int = 11;

/// The kernel's error for one request.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The request's sequence number.
    pub sequence: u32,
    /// The error number, see errno(3).
    pub errno: i32,
    /// The kernel's own error text, often empty.
    pub message: String,
}

impl Refusal {
    /// Return the cause in words, e.g. `File exists`.
    pub fn why(&self) -> String {
        let text = nix::errno::Errno::from_raw(self.errno).desc();
        if self.message.is_empty() { text.into() } else { format!("{text}: {}", self.message) }
    }
}

/// A socket in the network namespace in which it was opened, even if its process moves to another one.
#[derive(Debug)]
pub struct Route(OwnedFd);

impl Route {
    /// Open a socket in the current network namespace.
    pub fn open() -> io::Result<Self> {
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        setsockopt(&fd, sockopt::SndBuf, &(1 << 20))?;
        for option in [NETLINK_CAP_ACK, NETLINK_EXT_ACK] {
            let on: libc::c_int = 1;
            // SAFETY: the value is a live c_int of the length given.
            let result = unsafe {
                libc::setsockopt(
                    fd.as_raw_fd(),
                    libc::SOL_NETLINK,
                    option,
                    (&raw const on).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                )
            };
            if result != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self(fd))
    }

    /// Request all objects of a kind (`NLM_F_DUMP`). `question` is the message type and `body` the data
    /// behind the message header. Return the data behind the header of each answer. Blocks until the last
    /// answer.
    pub fn dump(&self, question: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut request = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        request.extend(question.to_ne_bytes());
        request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
        request.extend([0; 8]);
        request.extend(body);
        send(self.0.as_raw_fd(), &request, MsgFlags::empty())?;
        let mut buffer = vec![0; 64 << 10];
        let mut found = Vec::new();
        loop {
            let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            for message in messages(&buffer[..length]) {
                match u16_at(message, 4) {
                    DONE => return Ok(found),
                    ERROR => return Err(refused(message)),
                    _ => found.push(message[HEADER..].to_vec()),
                }
            }
        }
    }

    /// Send serialised requests, only the last of which asks for an acknowledgement, and return the first
    /// error. The kernel has processed all requests when this returns; it does not stop at one that fails.
    pub fn request(&self, batch: &[u8], last: u32) -> io::Result<Option<Refusal>> {
        send(self.0.as_raw_fd(), batch, MsgFlags::empty())?;
        let mut buffer = vec![0; 64 << 10];
        let mut first = None;
        loop {
            let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            for answer in answers(&buffer[..length]) {
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

/// Split a datagram into its messages.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.len() < HEADER {
            return None;
        }
        let length = (u32_at(bytes, 0) as usize).clamp(HEADER, bytes.len());
        let message = &bytes[..length];
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
        Some(message)
    })
}

/// Read NLMSG_ERROR messages. One with errno 0 is an acknowledgement.
fn answers(bytes: &[u8]) -> Vec<Refusal> {
    let errors = messages(bytes)
        .filter(|message| u16_at(message, 4) == ERROR && message.len() >= HEADER + 4 + HEADER);
    let refusal = |message: &[u8]| {
        let errno = (u32_at(message, HEADER) as i32).saturating_neg();
        let text = extended(message).unwrap_or_default();
        Refusal { sequence: u32_at(message, 8), errno, message: text }
    };
    errors.map(refusal).collect()
}

/// Return the error of an NLMSG_ERROR message.
fn refused(message: &[u8]) -> io::Error {
    let errno = message.get(HEADER..HEADER + 4).map(|bytes| u32_at(bytes, 0) as i32);
    io::Error::from_raw_os_error(errno.map_or(libc::EPROTO, i32::saturating_neg))
}

/// Return the text of an extended acknowledgement, which follows the (capped) copy of the request.
fn extended(message: &[u8]) -> Option<String> {
    let flags = u16_at(message, 6);
    if flags & NLM_F_ACK_TLVS == 0 {
        return None;
    }
    let request = &message[HEADER + 4..];
    let copied = if flags & NLM_F_CAPPED != 0 { HEADER } else { u32_at(request, 0) as usize };
    let mut rest = request.get(copied.next_multiple_of(4)..)?;
    while rest.len() >= 4 {
        let length = usize::from(u16_at(rest, 0)).clamp(4, rest.len());
        if u16_at(rest, 2) == NLMSGERR_ATTR_MSG {
            let text = String::from_utf8_lossy(&rest[4..length]);
            return Some(text.trim_end_matches('\0').into());
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
