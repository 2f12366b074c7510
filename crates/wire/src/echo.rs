//! ICMP and ICMPv6 echo (RFC 792; RFC 4443, section 4).

use crate::{Leg, NotAProbe, Protocol, Sum, be};

/// The length of an echo header, in bytes.
pub const ECHO_HEADER: usize = 8;

/// Message types of ICMP (RFC 792) and of ICMPv6 (RFC 4443).
const ECHO: u8 = 8;
const ECHO_REPLY: u8 = 0;
const ECHO_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;

/// An echo message in captured bytes.
#[derive(Clone, Copy, Debug)]
pub struct EchoView<'a> {
    bytes: &'a [u8],
    leg: Leg,
}

impl<'a> EchoView<'a> {
    /// Wrap `bytes`, which start at the ICMP header. Fail unless they are an echo request or echo reply of
    /// this protocol.
    pub fn new(bytes: &'a [u8], protocol: Protocol) -> Result<Self, NotAProbe> {
        if bytes.len() < ECHO_HEADER {
            return Err(NotAProbe::Truncated("ICMP"));
        }
        let leg = match (protocol, bytes[0]) {
            (Protocol::Icmp, ECHO) | (Protocol::Icmpv6, ECHO_V6) => Leg::Request,
            (Protocol::Icmp, ECHO_REPLY) | (Protocol::Icmpv6, ECHO_REPLY_V6) => Leg::Reply,
            _ => return Err(NotAProbe::Other),
        };
        Ok(Self { bytes, leg })
    }

    /// Return the leg: an echo is a request, an echo reply is a reply.
    pub fn leg(&self) -> Leg {
        self.leg
    }

    /// Return the code, which is 0 in every echo that follows the RFCs.
    pub fn code(&self) -> u8 {
        self.bytes[1]
    }

    /// Return the identifier, which belongs to one probe's socket.
    pub fn ident(&self) -> u16 {
        be::u16(self.bytes, 4)
    }

    /// Return the sequence number of the ICMP header: the low 16 bits of the probe's.
    pub fn seq(&self) -> u16 {
        be::u16(self.bytes, 6)
    }

    /// Return the payload behind the ICMP header, as far as it was captured.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[ECHO_HEADER..]
    }
}

/// An echo header to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoRepr {
    /// Request for an echo, reply for an echo reply.
    pub leg: Leg,
    /// The identifier, which belongs to one probe's socket.
    pub ident: u16,
    /// The sequence number.
    pub seq: u16,
}

impl EchoRepr {
    /// Read the fields of a captured header.
    pub fn parse(view: &EchoView<'_>) -> Self {
        Self { leg: view.leg(), ident: view.ident(), seq: view.seq() }
    }

    /// Write the header over the start of `message`, whose payload must be in place, with the checksum over
    /// all of it. `pseudo` is the pseudo header's sum for ICMPv6 and empty for ICMP.
    ///
    /// # Panics
    /// Panics if `message` is shorter than [`ECHO_HEADER`].
    pub fn emit(&self, message: &mut [u8], protocol: Protocol, pseudo: Sum) {
        message[0] = match (protocol, self.leg) {
            (Protocol::Icmpv6, Leg::Request) => ECHO_V6,
            (Protocol::Icmpv6, Leg::Reply) => ECHO_REPLY_V6,
            (_, Leg::Request) => ECHO,
            (_, Leg::Reply) => ECHO_REPLY,
        };
        message[1..4].fill(0);
        message[4..6].copy_from_slice(&self.ident.to_be_bytes());
        message[6..8].copy_from_slice(&self.seq.to_be_bytes());
        let sum = pseudo.over(message).finish();
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_echo_is_these_bytes() {
        let mut bytes = *b"........ab";
        let repr = EchoRepr { leg: Leg::Request, ident: 0x1234, seq: 1 };
        repr.emit(&mut bytes, Protocol::Icmp, Sum::default());
        assert_eq!(bytes, *b"\x08\0\x84\x68\x12\x34\0\x01ab");
    }

    #[test]
    fn other_messages_are_refused() {
        let unreachable = [3, 3, 0, 0, 0, 0, 0, 0];
        assert_eq!(EchoView::new(&unreachable, Protocol::Icmp).unwrap_err(), NotAProbe::Other,);
        assert_eq!(EchoView::new(&[8, 1, 0, 0, 0, 0, 0, 0], Protocol::Icmp).unwrap().code(), 1);
    }

    proptest! {
        #[test]
        fn echoes_round_trip(
            reply: bool, v6: bool, ident: u16, seq: u16,
            mut bytes in proptest::collection::vec(any::<u8>(), ECHO_HEADER..80),
        ) {
            let leg = if reply { Leg::Reply } else { Leg::Request };
            let protocol = if v6 { Protocol::Icmpv6 } else { Protocol::Icmp };
            let repr = EchoRepr { leg, ident, seq };
            repr.emit(&mut bytes, protocol, Sum::default());
            prop_assert_eq!(Sum::default().over(&bytes).finish(), 0);
            prop_assert_eq!(EchoRepr::parse(&EchoView::new(&bytes, protocol).unwrap()), repr);
        }
    }
}
