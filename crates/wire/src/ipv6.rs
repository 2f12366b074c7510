//! IPv6 and the extension headers that may precede a probe (RFC 8200).

use crate::{NotAProbe, Protocol, be};
use std::net::Ipv6Addr;

/// The length of an IPv6 header without extension headers, in bytes.
pub const IPV6_HEADER: usize = 40;

/// Numbers of extension headers (RFC 8200, section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// An IPv6 packet in captured bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6View<'a> {
    bytes: &'a [u8],
    protocol: u8,
    payload: usize,
}

impl<'a> Ipv6View<'a> {
    /// Wrap `bytes`, which start at the IP header and may end before the packet does. Skip hop-by-hop,
    /// routing and destination options. Fail on fragments, and if a header is malformed or cut.
    pub fn new(bytes: &'a [u8]) -> Result<Self, NotAProbe> {
        if bytes.len() < IPV6_HEADER {
            return Err(NotAProbe::Truncated("IPv6"));
        }
        if bytes[0] >> 4 != 6 {
            return Err(NotAProbe::Malformed("IPv6"));
        }
        let (mut protocol, mut payload) = (bytes[6], IPV6_HEADER);
        while let HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION = protocol {
            if protocol == FRAGMENT {
                return Err(NotAProbe::Fragment);
            }
            if bytes.len() < payload + 2 {
                return Err(NotAProbe::Truncated("IPv6 extension"));
            }
            protocol = bytes[payload];
            payload += 8 * (usize::from(bytes[payload + 1]) + 1);
        }
        if bytes.len() < payload || IPV6_HEADER + usize::from(be::u16(bytes, 4)) < payload {
            return Err(NotAProbe::Truncated("IPv6 extension"));
        }
        Ok(Self { bytes, protocol, payload })
    }

    /// Return the transport protocol. Fail if probes do not use it.
    pub fn protocol(&self) -> Result<Protocol, NotAProbe> {
        Protocol::from_number(self.protocol)
    }

    /// Return the remaining hop limit.
    pub fn hop_limit(&self) -> u8 {
        self.bytes[7]
    }

    /// Return the source address.
    pub fn from(&self) -> Ipv6Addr {
        self.address(8)
    }

    /// Return the destination address.
    pub fn to(&self) -> Ipv6Addr {
        self.address(24)
    }

    fn address(&self, at: usize) -> Ipv6Addr {
        let mut octets = [0; 16];
        octets.copy_from_slice(&self.bytes[at..at + 16]);
        octets.into()
    }

    /// Return the payload behind the last extension header, as far as it was captured, without padding of the
    /// link layer.
    pub fn payload(&self) -> &'a [u8] {
        let end = IPV6_HEADER + usize::from(be::u16(self.bytes, 4));
        &self.bytes[self.payload..end.min(self.bytes.len())]
    }
}

/// An IPv6 header to send, without extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Repr {
    /// The source address.
    pub from: Ipv6Addr,
    /// The destination address.
    pub to: Ipv6Addr,
    /// The transport protocol.
    pub protocol: Protocol,
    /// The hop limit.
    pub hop_limit: u8,
}

impl Ipv6Repr {
    /// Read the fields of a captured header. Fail if probes do not use its transport protocol.
    pub fn parse(view: &Ipv6View<'_>) -> Result<Self, NotAProbe> {
        let (from, to) = (view.from(), view.to());
        Ok(Self { from, to, protocol: view.protocol()?, hop_limit: view.hop_limit() })
    }

    /// Write the header over the start of `packet`, whose length determines the payload length field.
    ///
    /// # Panics
    /// Panics if `packet` is shorter than [`IPV6_HEADER`] or longer than that plus 65535 bytes.
    pub fn emit(&self, packet: &mut [u8]) {
        let length = u16::try_from(packet.len() - IPV6_HEADER).expect("a payload fits 16 bits");
        packet[..4].copy_from_slice(&[0x60, 0, 0, 0]);
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        packet[6..8].copy_from_slice(&[self.protocol as u8, self.hop_limit]);
        packet[8..24].copy_from_slice(&self.from.octets());
        packet[24..40].copy_from_slice(&self.to.octets());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(payload: &[u8], next: u8) -> Vec<u8> {
        let mut bytes = vec![0; IPV6_HEADER];
        bytes.extend_from_slice(payload);
        let (from, to) = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
        Ipv6Repr { from, to, protocol: Protocol::Udp, hop_limit: 9 }.emit(&mut bytes);
        bytes[6] = next;
        bytes
    }

    #[test]
    fn a_header_is_these_bytes() {
        let bytes = packet(b"ab", 17);
        assert_eq!(&bytes[..8], b"\x60\0\0\0\0\x02\x11\x09");
        assert_eq!(&bytes[23..25], b"\x01\0");
        assert_eq!(&bytes[40..], b"ab");
    }

    #[test]
    fn extension_headers_are_skipped_and_fragments_refused() {
        let options = b"\x3c\0......\x3a\x01..............icmp";
        let bytes = packet(options, 0);
        let view = Ipv6View::new(&bytes).unwrap();
        assert_eq!((view.protocol(), view.payload()), (Ok(Protocol::Icmpv6), &b"icmp"[..]));
        let fragment = packet(b"\x3a\0......icmp", 44);
        assert_eq!(Ipv6View::new(&fragment).unwrap_err(), NotAProbe::Fragment);
        let truncated = packet(b"\x3a\x09......icmp", 0);
        assert_eq!(Ipv6View::new(&truncated).unwrap_err(), NotAProbe::Truncated("IPv6 extension"));
    }

    proptest! {
        #[test]
        fn headers_round_trip(from: u128, to: u128, hop_limit: u8, length in IPV6_HEADER..200) {
            let (from, to) = (from.into(), to.into());
            let repr = Ipv6Repr { from, to, protocol: Protocol::Udp, hop_limit };
            let mut bytes = vec![0; length];
            repr.emit(&mut bytes);
            let view = Ipv6View::new(&bytes).unwrap();
            prop_assert_eq!(Ipv6Repr::parse(&view).unwrap(), repr);
            prop_assert_eq!(view.payload().len(), length - IPV6_HEADER);
        }
    }
}
