//! Recognition of captured packets that were corrupted on their way.

use crate::{EthernetView, IpView, NotAProbe, Protocol, Sum, UDP_HEADER, be, pseudo_header};
use std::net::IpAddr;

/// Return true if the frame carries a packet whose checksum is wrong, in its IPv4 header or in its ICMP, ICMPv6,
/// UDP or TCP message: its receiver's kernel drops such a packet.
///
/// Return false where the bytes do not show it: for a frame that was cut by the capture, a fragment, another
/// protocol, and UDP over IPv4 without a checksum (RFC 768). A sender may leave the checksum to its interface; then
/// the field holds the sum of the pseudo header (the kernel's Documentation/networking/checksum-offloads.rst), and
/// the packet counts as intact.
#[must_use]
pub fn is_corrupted(frame: &[u8]) -> bool {
    checked(frame).is_ok_and(|intact| !intact)
}

/// Return true if the ICMP message's checksum is right. The message must be complete.
#[must_use]
pub fn icmp_is_intact(message: &[u8]) -> bool {
    Sum::default().over(message).finish() == 0
}

/// Return true if the checksums of a frame are right; fail where the bytes do not show it.
fn checked(frame: &[u8]) -> Result<bool, NotAProbe> {
    let packet = IpView::in_frame(&EthernetView::new(frame)?)?;
    if !packet.is_v6() && Sum::default().over(packet.header()).finish() != 0 {
        return Ok(false);
    }
    if !packet.is_whole() {
        return Err(NotAProbe::Truncated("captured"));
    }
    message(packet.payload(), packet.from(), packet.to(), packet.protocol()?)
}

/// Fail unless all `length` bytes were captured.
fn whole(bytes: &[u8], length: usize) -> Result<(), NotAProbe> {
    if bytes.len() < length { Err(NotAProbe::Truncated("captured")) } else { Ok(()) }
}

/// Return true if the checksum of an IP packet's whole payload is right, or left to the interface.
fn message(
    payload: &[u8],
    from: IpAddr,
    to: IpAddr,
    protocol: Protocol,
) -> Result<bool, NotAProbe> {
    let (field, message) = match protocol {
        Protocol::Icmp => {
            whole(payload, 4)?;
            return Ok(icmp_is_intact(payload));
        }
        Protocol::Icmpv6 => (2, payload),
        Protocol::Tcp => (16, payload),
        Protocol::Udp => {
            whole(payload, UDP_HEADER)?;
            let length = usize::from(be::u16(payload, 4));
            let Some(datagram) = payload.get(..length).filter(|_| length >= UDP_HEADER) else {
                return Ok(false);
            };
            (6, datagram)
        }
    };
    whole(message, field + 2)?;
    let pseudo = pseudo_header(from, to, protocol as u8, message.len());
    let checksum = be::u16(message, field);
    let has_none = protocol == Protocol::Udp && from.is_ipv4() && checksum == 0;
    let left_to_the_interface = checksum == !pseudo.finish();
    Ok(has_none || left_to_the_interface || pseudo.over(message).finish() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ETHERNET_HEADER, EchoRepr, EthernetRepr, IPV4_HEADER, IPV6_HEADER, IpRepr, Leg, UdpRepr,
    };
    use proptest::prelude::*;

    fn addresses(v6: bool) -> (IpAddr, IpAddr) {
        match v6 {
            true => ([1u16; 8].into(), [2u16; 8].into()),
            false => ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
        }
    }

    /// Build a frame with a payload in this protocol; UDP and ICMP get their checksum.
    fn frame(protocol: Protocol, v6: bool, payload: &[u8]) -> Vec<u8> {
        let (from, to) = addresses(v6);
        let ip = IpRepr { from, to, protocol, ttl: 64 };
        let header = ETHERNET_HEADER + ip.length();
        let mut frame = vec![0; header + UDP_HEADER];
        frame.extend(payload);
        let message = &mut frame[header..];
        let pseudo = pseudo_header(from, to, protocol as u8, message.len());
        if protocol == Protocol::Udp {
            UdpRepr { from_port: 7, to_port: 9 }.emit(message, pseudo);
        } else {
            let pseudo = if v6 { pseudo } else { Sum::default() };
            EchoRepr { leg: Leg::Reply, ident: 3, seq: 4 }.emit(message, protocol, pseudo);
        }
        ip.emit(&mut frame[ETHERNET_HEADER..]);
        EthernetRepr { to: [2; 6], from: [4; 6], ether_type: ip.ether_type() }.emit(&mut frame);
        frame
    }

    const EVERY: [(Protocol, bool); 4] = [
        (Protocol::Icmp, false),
        (Protocol::Icmpv6, true),
        (Protocol::Udp, false),
        (Protocol::Udp, true),
    ];

    #[test]
    fn a_checksum_left_to_the_interface_is_not_wrong() {
        for v6 in [false, true] {
            let mut bytes = frame(Protocol::Udp, v6, b"data");
            let start = bytes.len() - UDP_HEADER - 4;
            let (from, to) = addresses(v6);
            let sum = !pseudo_header(from, to, 17, UDP_HEADER + 4).finish();
            bytes[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
            assert!(!is_corrupted(&bytes), "v6: {v6}");
            bytes[start + 7] ^= 1;
            assert!(is_corrupted(&bytes), "v6: {v6}");
        }
    }

    #[test]
    fn udp_over_ipv4_may_have_no_checksum() {
        let mut bytes = frame(Protocol::Udp, false, b"data");
        let field = ETHERNET_HEADER + IPV4_HEADER + 6;
        bytes[field..field + 2].fill(0);
        assert!(!is_corrupted(&bytes));
    }

    /// Return true if the checksum is that of the pseudo-header alone: one wrong bit can make it so.
    fn is_left_to_the_interface(bytes: &[u8], protocol: Protocol, v6: bool) -> bool {
        let at =
            |start: usize| IpAddr::from(<[u8; 16]>::try_from(&bytes[start..start + 16]).unwrap());
        let ip = ETHERNET_HEADER;
        let (from, to) = if v6 { (at(ip + 8), at(ip + 24)) } else { addresses(false) };
        let message = &bytes[ip + if v6 { IPV6_HEADER } else { IPV4_HEADER }..];
        let (field, length) = match protocol {
            Protocol::Udp => (6, usize::from(be::u16(message, 4))),
            _ => (2, message.len()),
        };
        let sum = !pseudo_header(from, to, protocol as u8, length).finish();
        protocol != Protocol::Icmp && be::u16(message, field) == sum
    }

    proptest! {
        #[test]
        fn one_wrong_bit_behind_the_ethernet_header_is_found(
            which in 0..4usize, payload in proptest::collection::vec(any::<u8>(), 0..60),
            bit in any::<proptest::sample::Index>(),
        ) {
            let (protocol, v6) = EVERY[which];
            let mut bytes = frame(protocol, v6, &payload);
            prop_assert!(!is_corrupted(&bytes));
            let message = ETHERNET_HEADER + if v6 { IPV6_HEADER } else { IPV4_HEADER };
            // A wrong bit of the IPv6 header's first eight bytes changes what follows, or nothing that is summed.
            let first = if v6 { ETHERNET_HEADER + 8 } else { message };
            let bit = bit.index((bytes.len() - first) * 8);
            bytes[first + bit / 8] ^= 1 << (bit % 8);
            let lost = protocol == Protocol::Udp && !v6 && bytes[message + 6..message + 8] == [0, 0];
            prop_assert!(is_corrupted(&bytes) || lost || is_left_to_the_interface(&bytes, protocol, v6));
        }

        #[test]
        fn one_wrong_bit_of_an_ipv4_header_is_found(bit in 0..160usize) {
            let mut bytes = frame(Protocol::Icmp, false, b"data");
            bytes[ETHERNET_HEADER + bit / 8] ^= 1 << (bit % 8);
            // A version, a length or a fragment that cannot be is refused by the parsers.
            let refused = IpView::v4(&bytes[ETHERNET_HEADER..]).is_err();
            prop_assert!(is_corrupted(&bytes) || refused);
        }

        #[test]
        fn a_cut_frame_is_not_judged(which in 0..4usize, cut in 1..50usize) {
            let (protocol, v6) = EVERY[which];
            let bytes = frame(protocol, v6, &[7; 60]);
            prop_assert!(!is_corrupted(&bytes[..bytes.len() - cut]));
        }
    }
}
