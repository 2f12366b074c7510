//! The kernel's error messages (`NLMSG_ERROR`, netlink(7)).

use std::io;

use netlink_packet_core::{
    ErrorBuffer, NLM_F_ACK_TLVS, NLM_F_CAPPED, NLMSG_ALIGNTO, NLMSG_ERROR, NetlinkBuffer,
    NlasIterator,
};
use nix::errno::Errno;

use super::message::messages;

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
pub(super) fn error(payload: &[u8]) -> io::Error {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(error(&(-libc::ENODEV).to_ne_bytes()).raw_os_error(), Some(libc::ENODEV));
        assert_eq!(error(&[0; 3]).raw_os_error(), Some(libc::EPROTO));
    }
}
