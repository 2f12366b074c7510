//! IPv4 (RFC 791), and IPv6 with the extension headers that may precede a probe (RFC 8200).

use crate::{EtherType, EthernetView, NotAProbe, Sum, be};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The length of an IPv4 header without options, in bytes.
pub const IPV4_HEADER: usize = 20;
/// The length of an IPv6 header without extension headers, in bytes.
pub const IPV6_HEADER: usize = 40;

/// The bits of an IPv4 fragment in the field of flags and offset: "more fragments", or an offset that is not 0.
const FRAGMENT_BITS: u16 = 0x3fff;

/// Numbers of extension headers (RFC 8200, section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

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

/// An IP packet in captured bytes, which start at the IP header and may end before the packet does.
#[derive(Clone, Copy, Debug)]
pub struct IpView<'a> {
    bytes: &'a [u8],
    protocol: u8,
    /// The offset of the payload behind all headers.
    payload: usize,
    /// The packet's length according to its header.
    total: usize,
}

impl<'a> IpView<'a> {
    /// Wrap an IPv4 packet. Fail on fragments, and if the header is malformed or cut.
    pub fn v4(bytes: &'a [u8]) -> Result<Self, NotAProbe> {
        if bytes.len() < IPV4_HEADER {
            return Err(NotAProbe::Truncated("IPv4"));
        }
        let payload = usize::from(bytes[0] & 0x0f) * 4;
        let total = usize::from(be::u16(bytes, 2));
        if bytes[0] >> 4 != 4 || payload < IPV4_HEADER || total < payload {
            return Err(NotAProbe::Malformed("IPv4"));
        }
        if bytes.len() < payload {
            return Err(NotAProbe::Truncated("IPv4"));
        }
        if be::u16(bytes, 6) & FRAGMENT_BITS != 0 {
            return Err(NotAProbe::Fragment);
        }
        Ok(Self { bytes, protocol: bytes[9], payload, total })
    }

    /// Wrap an IPv6 packet. Skip hop-by-hop, routing and destination options. Fail on fragments, and if a header
    /// is malformed or cut.
    pub fn v6(bytes: &'a [u8]) -> Result<Self, NotAProbe> {
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
        let total = IPV6_HEADER + usize::from(be::u16(bytes, 4));
        if bytes.len() < payload || total < payload {
            return Err(NotAProbe::Truncated("IPv6 extension"));
        }
        Ok(Self { bytes, protocol, payload, total })
    }

    /// Wrap the packet in an Ethernet frame. Fail if it carries none, and as [`Self::v4`] and [`Self::v6`] do.
    pub fn in_frame(frame: &EthernetView<'a>) -> Result<Self, NotAProbe> {
        match frame.ether_type()? {
            EtherType::Ipv4 => Self::v4(frame.payload()),
            EtherType::Ipv6 => Self::v6(frame.payload()),
        }
    }

    /// Return true if the packet is one of IPv6.
    pub fn is_v6(&self) -> bool {
        self.bytes[0] >> 4 == 6
    }

    /// Return true if no byte of the packet is missing.
    pub(crate) fn is_whole(&self) -> bool {
        self.bytes.len() >= self.total
    }

    /// Return the transport protocol. Fail if probes do not use it.
    pub fn protocol(&self) -> Result<Protocol, NotAProbe> {
        Protocol::from_number(self.protocol)
    }

    /// Return the remaining time to live or hop limit.
    pub fn ttl(&self) -> u8 {
        self.bytes[if self.is_v6() { 7 } else { 8 }]
    }

    /// Return the source address.
    pub fn from(&self) -> IpAddr {
        if self.is_v6() { self.v6_at(8) } else { self.v4_at(12) }
    }

    /// Return the destination address.
    pub fn to(&self) -> IpAddr {
        if self.is_v6() { self.v6_at(24) } else { self.v4_at(16) }
    }

    fn v4_at(&self, at: usize) -> IpAddr {
        Ipv4Addr::from(be::u32(self.bytes, at)).into()
    }

    fn v6_at(&self, at: usize) -> IpAddr {
        let mut octets = [0; 16];
        octets.copy_from_slice(&self.bytes[at..at + 16]);
        Ipv6Addr::from(octets).into()
    }

    /// Return the bytes before the payload: the header, with options or extension headers.
    pub(crate) fn header(&self) -> &'a [u8] {
        &self.bytes[..self.payload]
    }

    /// Return the length of the payload behind all headers, also if it was not captured.
    pub fn payload_length(&self) -> usize {
        self.total - self.payload
    }

    /// Return the payload behind all headers, as far as it was captured, without padding of the link layer.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.payload..self.total.min(self.bytes.len())]
    }
}

/// An IP header to send, without options and extension headers; one of IPv4 has "don't fragment".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpRepr {
    /// The source address, which determines the version of IP.
    pub from: IpAddr,
    /// The destination address, of the same version.
    pub to: IpAddr,
    /// The transport protocol.
    pub protocol: Protocol,
    /// The time to live or hop limit.
    pub ttl: u8,
}

impl IpRepr {
    /// Read the fields of a captured header. Fail if probes do not use its transport protocol.
    pub fn parse(view: &IpView<'_>) -> Result<Self, NotAProbe> {
        let (from, to) = (view.from(), view.to());
        Ok(Self { from, to, protocol: view.protocol()?, ttl: view.ttl() })
    }

    /// Return the length of the header, in bytes.
    pub fn length(&self) -> usize {
        if self.from.is_ipv6() { IPV6_HEADER } else { IPV4_HEADER }
    }

    /// Return the EtherType of a frame that carries the packet.
    pub fn ether_type(&self) -> EtherType {
        if self.from.is_ipv6() { EtherType::Ipv6 } else { EtherType::Ipv4 }
    }

    /// Write the header over the start of `packet`, whose length determines the header's field.
    ///
    /// # Panics
    /// Panics if `packet` is shorter than [`Self::length`] or longer than 16 bits can tell, and if the addresses
    /// are of two versions.
    pub fn emit(&self, packet: &mut [u8]) {
        match (self.from, self.to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let total = u16::try_from(packet.len()).expect("an IPv4 packet fits 16 bits");
                packet[..2].copy_from_slice(&[0x45, 0]);
                packet[2..4].copy_from_slice(&total.to_be_bytes());
                packet[4..12].copy_from_slice(&[
                    0,
                    0,
                    0x40,
                    0,
                    self.ttl,
                    self.protocol as u8,
                    0,
                    0,
                ]);
                packet[12..16].copy_from_slice(&from.octets());
                packet[16..20].copy_from_slice(&to.octets());
                let sum = Sum::default().over(&packet[..IPV4_HEADER]).finish();
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let length = packet.len() - IPV6_HEADER;
                let length = u16::try_from(length).expect("a payload fits 16 bits");
                packet[..4].copy_from_slice(&[0x60, 0, 0, 0]);
                packet[4..6].copy_from_slice(&length.to_be_bytes());
                packet[6..8].copy_from_slice(&[self.protocol as u8, self.ttl]);
                packet[8..24].copy_from_slice(&from.octets());
                packet[24..40].copy_from_slice(&to.octets());
            }
            (from, to) => panic!("{from} and {to} are of two versions of IP"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const IPV4: IpRepr = IpRepr {
        from: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
        to: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        protocol: Protocol::Icmp,
        ttl: 64,
    };

    /// Build an IPv6 packet whose first header of extension has this number.
    fn v6_packet(payload: &[u8], next: u8) -> Vec<u8> {
        let mut bytes = vec![0; IPV6_HEADER];
        bytes.extend_from_slice(payload);
        let (from, to) = (Ipv6Addr::LOCALHOST.into(), Ipv6Addr::UNSPECIFIED.into());
        IpRepr { from, to, protocol: Protocol::Udp, ttl: 9 }.emit(&mut bytes);
        bytes[6] = next;
        bytes
    }

    #[test]
    fn headers_are_these_bytes() {
        let mut bytes = [0; 28];
        IPV4.emit(&mut bytes);
        let header = b"\x45\0\0\x1c\0\0\x40\0\x40\x01\x26\xdf\x0a\0\0\x01\x0a\0\0\x02";
        assert_eq!(&bytes[..20], header);
        let bytes = v6_packet(b"ab", 17);
        assert_eq!(&bytes[..8], b"\x60\0\0\0\0\x02\x11\x09");
        assert_eq!(&bytes[23..25], b"\x01\0");
        assert_eq!(&bytes[40..], b"ab");
    }

    #[test]
    fn options_are_skipped_padding_left_out_and_fragments_refused() {
        let mut bytes = [0; 46];
        IPV4.emit(&mut bytes[..30]);
        bytes[0] = 0x46;
        assert_eq!(IpView::v4(&bytes).unwrap().payload().len(), 6);
        for (at, bits) in [(6, 0x20), (6, 0x01), (7, 0x01)] {
            let mut fragment = bytes;
            fragment[at] |= bits;
            assert_eq!(IpView::v4(&fragment).unwrap_err(), NotAProbe::Fragment);
        }
    }

    #[test]
    fn extension_headers_are_skipped_and_fragments_refused() {
        let options = b"\x3c\0......\x3a\x01..............icmp";
        let bytes = v6_packet(options, 0);
        let view = IpView::v6(&bytes).unwrap();
        assert_eq!((view.protocol(), view.payload()), (Ok(Protocol::Icmpv6), &b"icmp"[..]));
        let fragment = v6_packet(b"\x3a\0......icmp", 44);
        assert_eq!(IpView::v6(&fragment).unwrap_err(), NotAProbe::Fragment);
        let truncated = v6_packet(b"\x3a\x09......icmp", 0);
        assert_eq!(IpView::v6(&truncated).unwrap_err(), NotAProbe::Truncated("IPv6 extension"));
    }

    proptest! {
        #[test]
        fn headers_round_trip(v6: bool, from: u128, to: u128, ttl: u8, length in 0..200usize) {
            let address = |bits: u128| match v6 {
                true => IpAddr::V6(bits.into()),
                false => IpAddr::V4((bits as u32).into()),
            };
            let (from, to) = (address(from), address(to));
            let repr = IpRepr { from, to, protocol: Protocol::Udp, ttl };
            let mut bytes = vec![0; repr.length() + length];
            repr.emit(&mut bytes);
            let view = if v6 { IpView::v6(&bytes) } else { IpView::v4(&bytes) }.unwrap();
            prop_assert_eq!(IpRepr::parse(&view).unwrap(), repr);
            prop_assert_eq!(view.payload().len(), length);
            prop_assert!(v6 || Sum::default().over(&bytes[..IPV4_HEADER]).finish() == 0);
        }
    }
}
