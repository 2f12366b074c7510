//! IPv4 (RFC 791).

use crate::{NotAProbe, Sum, be};
use std::net::Ipv4Addr;

/// The length of an IPv4 header without options, in bytes.
pub const IPV4_HEADER: usize = 20;

/// The bits of a fragment in the field of flags and offset: "more fragments", or an offset that is not 0.
const FRAGMENT: u16 = 0x3fff;

/// A transport protocol that probes use, with its IP protocol number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Protocol {
    /// ICMP for IPv4.
    Icmp = 1,
    /// TCP.
    Tcp = 6,
    /// UDP.
    Udp = 17,
    /// ICMP for IPv6.
    Icmpv6 = 58,
}

impl Protocol {
    /// Return the protocol with this number (the registry of protocol numbers). Fail for all others.
    pub(crate) fn from_number(number: u8) -> Result<Self, NotAProbe> {
        const ICMP: u8 = Protocol::Icmp as u8;
        const TCP: u8 = Protocol::Tcp as u8;
        const UDP: u8 = Protocol::Udp as u8;
        const ICMPV6: u8 = Protocol::Icmpv6 as u8;
        match number {
            ICMP => Ok(Self::Icmp),
            TCP => Ok(Self::Tcp),
            UDP => Ok(Self::Udp),
            ICMPV6 => Ok(Self::Icmpv6),
            _ => Err(NotAProbe::Other),
        }
    }
}

/// An IPv4 packet in captured bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4View<'a> {
    bytes: &'a [u8],
    header: usize,
}

impl<'a> Ipv4View<'a> {
    /// Wrap `bytes`, which start at the IP header and may end before the packet does. Fail on fragments, and
    /// if the header is malformed or cut.
    pub fn new(bytes: &'a [u8]) -> Result<Self, NotAProbe> {
        if bytes.len() < IPV4_HEADER {
            return Err(NotAProbe::Truncated("IPv4"));
        }
        let header = usize::from(bytes[0] & 0x0f) * 4;
        let total = usize::from(be::u16(bytes, 2));
        if bytes[0] >> 4 != 4 || header < IPV4_HEADER || total < header {
            return Err(NotAProbe::Malformed("IPv4"));
        }
        if bytes.len() < header {
            return Err(NotAProbe::Truncated("IPv4"));
        }
        if be::u16(bytes, 6) & FRAGMENT != 0 {
            return Err(NotAProbe::Fragment);
        }
        Ok(Self { bytes, header })
    }

    /// Return the transport protocol. Fail if probes do not use it.
    pub fn protocol(&self) -> Result<Protocol, NotAProbe> {
        Protocol::from_number(self.bytes[9])
    }

    /// Return the remaining time to live.
    pub fn ttl(&self) -> u8 {
        self.bytes[8]
    }

    /// Return the source address.
    pub fn from(&self) -> Ipv4Addr {
        be::u32(self.bytes, 12).into()
    }

    /// Return the destination address.
    pub fn to(&self) -> Ipv4Addr {
        be::u32(self.bytes, 16).into()
    }

    /// Return the payload behind the header and its options, as far as it was captured, without padding of
    /// the link layer.
    pub fn payload(&self) -> &'a [u8] {
        let end = usize::from(be::u16(self.bytes, 2)).min(self.bytes.len());
        &self.bytes[self.header..end]
    }
}

/// An IPv4 header to send, without options and with "don't fragment".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Repr {
    /// The source address.
    pub from: Ipv4Addr,
    /// The destination address.
    pub to: Ipv4Addr,
    /// The transport protocol.
    pub protocol: Protocol,
    /// The time to live.
    pub ttl: u8,
}

impl Ipv4Repr {
    /// Read the fields of a captured header. Fail if probes do not use its transport protocol.
    pub fn parse(view: &Ipv4View<'_>) -> Result<Self, NotAProbe> {
        let (from, to) = (view.from(), view.to());
        Ok(Self { from, to, protocol: view.protocol()?, ttl: view.ttl() })
    }

    /// Write the header over the start of `packet`, whose length becomes the packet's total length.
    ///
    /// # Panics
    /// Panics if `packet` is shorter than [`IPV4_HEADER`] or longer than 65535 bytes.
    pub fn emit(&self, packet: &mut [u8]) {
        let total = u16::try_from(packet.len()).expect("an IPv4 packet fits 16 bits");
        packet[..2].copy_from_slice(&[0x45, 0]);
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet[4..12].copy_from_slice(&[0, 0, 0x40, 0, self.ttl, self.protocol as u8, 0, 0]);
        packet[12..16].copy_from_slice(&self.from.octets());
        packet[16..20].copy_from_slice(&self.to.octets());
        let sum = Sum::default().over(&packet[..IPV4_HEADER]).finish();
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REPR: Ipv4Repr = Ipv4Repr {
        from: Ipv4Addr::new(10, 0, 0, 1),
        to: Ipv4Addr::new(10, 0, 0, 2),
        protocol: Protocol::Icmp,
        ttl: 64,
    };

    #[test]
    fn a_header_is_these_bytes() {
        let mut bytes = [0; 28];
        REPR.emit(&mut bytes);
        let header = b"\x45\0\0\x1c\0\0\x40\0\x40\x01\x26\xdf\x0a\0\0\x01\x0a\0\0\x02";
        assert_eq!(&bytes[..20], header);
    }

    #[test]
    fn options_are_skipped_padding_left_out_and_fragments_refused() {
        let mut bytes = [0; 46];
        REPR.emit(&mut bytes[..30]);
        bytes[0] = 0x46;
        assert_eq!(Ipv4View::new(&bytes).unwrap().payload().len(), 6);
        for (at, bits) in [(6, 0x20), (6, 0x01), (7, 0x01)] {
            let mut fragment = bytes;
            fragment[at] |= bits;
            assert_eq!(Ipv4View::new(&fragment).unwrap_err(), NotAProbe::Fragment);
        }
    }

    proptest! {
        #[test]
        fn headers_round_trip(from: u32, to: u32, ttl: u8, length in IPV4_HEADER..200) {
            let repr = Ipv4Repr { from: from.into(), to: to.into(), protocol: Protocol::Udp, ttl };
            let mut bytes = vec![0; length];
            repr.emit(&mut bytes);
            prop_assert_eq!(Sum::default().over(&bytes[..IPV4_HEADER]).finish(), 0);
            prop_assert_eq!(Ipv4Repr::parse(&Ipv4View::new(&bytes).unwrap()).unwrap(), repr);
        }
    }
}
