//! Target `packet`: any bytes are a probe packet or a reason why not.

use crate::outcome::{Outcome, inside};
use delaylab_wire::*;
use std::net::IpAddr;

/// Parse a frame. Accept it if it carries a probe packet.
pub fn run(bytes: &[u8]) -> Outcome {
    let outcome = parse(bytes);
    assert_eq!(outcome, layers(bytes), "views and parser differ");
    cut(bytes, outcome, parse);
    cut(bytes, parse_ip(bytes), parse_ip);
    anywhere(bytes);
    let sighting = outcome.map_err(|reason| reason.to_string())?;
    leg(&sighting);
    let inner = EthernetView::new(bytes).expect("a header").payload();
    assert_eq!(parse_ip(inner), Ok(sighting), "the IP packet alone is another");
    Ok(())
}

/// Assert that bytes that end earlier or later give the same result, or are truncated.
pub(crate) fn cut<T: Copy + PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    outcome: Result<T, NotAProbe>,
    parse: impl Fn(&[u8]) -> Result<T, NotAProbe>,
) {
    let truncated = |outcome| matches!(outcome, Err(NotAProbe::Truncated(_)));
    // A place that follows from the bytes, so that the same input is the same test.
    let somewhere =
        bytes.iter().fold(bytes.len(), |sum, byte| sum * 31 % 8191 + usize::from(*byte));
    for end in [bytes.len() / 2, bytes.len().saturating_sub(1), somewhere % (bytes.len() + 1)] {
        let earlier = parse(&bytes[..end]);
        assert!(earlier == outcome || truncated(earlier), "cut at {end}: {earlier:?}");
    }
    if !truncated(outcome) {
        let longer = [bytes, &[0; 8]].concat();
        assert_eq!(parse(&longer), outcome, "padding matters");
    }
}

/// Assert that the views of any bytes show nothing that is not there, whatever precedes them.
fn anywhere(bytes: &[u8]) {
    let address = |last| IpAddr::from([10, 0, 0, last]);
    let ends = (address(1), address(2));
    let _ = ipv4(bytes);
    let _ = ipv6(bytes);
    let _ = transport(bytes, Protocol::Udp, 0, ends);
    let _ = transport(bytes, Protocol::Icmp, 0, ends);
    let _ = transport(bytes, Protocol::Icmpv6, 0, ends);
    let _ = probe(bytes);
}

fn leg(sighting: &Sighting) {
    match sighting.transport {
        Transport::Echo(echo) => assert_eq!(sighting.leg(5001), Some(echo.leg)),
        Transport::Udp(udp) => {
            assert_eq!(sighting.leg(udp.to_port), Some(Leg::Request));
            let reply = if udp.to_port == udp.from_port { Leg::Request } else { Leg::Reply };
            assert_eq!(sighting.leg(udp.from_port), Some(reply));
            let other = (0..=2).find(|port| ![udp.to_port, udp.from_port].contains(port));
            assert_eq!(sighting.leg(other.expect("one of three")), None);
        }
    }
}

/// Parse by the views alone, and check each on the way.
fn layers(bytes: &[u8]) -> Result<Sighting, NotAProbe> {
    let view = EthernetView::new(bytes)?;
    let payload = view.payload();
    inside(payload, bytes, bytes.len());
    let tags = (bytes.len() - payload.len() - ETHERNET_HEADER) / 4;
    let repr = EthernetRepr::parse(&view)?;
    let mut header = [0; ETHERNET_HEADER];
    repr.emit(&mut header);
    assert_eq!(header[..12], bytes[..12]);
    assert_eq!(header[12..], bytes[12 + 4 * tags..][..2], "another type behind {tags} tags");
    match repr.ether_type {
        EtherType::Ipv4 => ipv4(payload),
        EtherType::Ipv6 => ipv6(payload),
    }
}

fn ipv4(bytes: &[u8]) -> Result<Sighting, NotAProbe> {
    let view = Ipv4View::new(bytes)?;
    let payload = view.payload();
    let total = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
    inside(payload, bytes, total);
    let repr = Ipv4Repr::parse(&view)?;
    let mut again = vec![0; IPV4_HEADER];
    again.extend_from_slice(payload);
    repr.emit(&mut again);
    let header = &again[..IPV4_HEADER];
    assert_eq!(Sum::default().over(header).finish(), 0, "wrong checksum");
    let same = Ipv4View::new(&again).expect("what was written is read");
    assert_eq!(Ipv4Repr::parse(&same), Ok(repr));
    assert_eq!(same.payload(), payload);
    if total == again.len() && bytes.len() >= total {
        // Except for the type of service, the identification, the flags and so the checksum.
        for part in [0..1, 2..4, 8..10, 12..total] {
            assert_eq!(again[part.clone()], bytes[part], "written otherwise than read");
        }
        if again[..10] == bytes[..10] && Sum::default().over(&bytes[..IPV4_HEADER]).finish() == 0 {
            one_checksum(&again[10..12], &bytes[10..12]);
        }
    }
    match repr.protocol {
        Protocol::Icmpv6 | Protocol::Tcp => Err(NotAProbe::Other),
        protocol => transport(payload, protocol, repr.ttl, (repr.from.into(), repr.to.into())),
    }
}

fn ipv6(bytes: &[u8]) -> Result<Sighting, NotAProbe> {
    let view = Ipv6View::new(bytes)?;
    let payload = view.payload();
    let total = IPV6_HEADER + usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
    inside(payload, bytes, total);
    let repr = Ipv6Repr::parse(&view)?;
    let mut again = vec![0; IPV6_HEADER];
    again.extend_from_slice(payload);
    repr.emit(&mut again);
    let same = Ipv6View::new(&again).expect("what was written is read");
    assert_eq!(Ipv6Repr::parse(&same), Ok(repr));
    assert_eq!(same.payload(), payload);
    if total == again.len() && bytes.len() >= total {
        // Except for the traffic class and the flow label.
        assert_eq!(again[0] >> 4, bytes[0] >> 4);
        assert_eq!(again[4..], bytes[4..total], "written otherwise than read");
    }
    match repr.protocol {
        Protocol::Icmp | Protocol::Tcp => Err(NotAProbe::Other),
        protocol => {
            transport(payload, protocol, repr.hop_limit, (repr.from.into(), repr.to.into()))
        }
    }
}

fn transport(
    bytes: &[u8],
    protocol: Protocol,
    ttl: u8,
    (from, to): (IpAddr, IpAddr),
) -> Result<Sighting, NotAProbe> {
    let (transport, payload) = if protocol == Protocol::Udp {
        let view = UdpView::new(bytes)?;
        (Transport::Udp(UdpRepr::parse(&view)), view.payload())
    } else {
        let view = EchoView::new(bytes, protocol)?;
        // A message with another code is an echo, and no probe's packet.
        assert_eq!(view.code(), bytes[1]);
        if view.code() != 0 {
            return Err(NotAProbe::Malformed("ICMP"));
        }
        (Transport::Echo(EchoRepr::parse(&view)), view.payload())
    };
    let length = UDP_HEADER + payload.len();
    inside(payload, bytes, length);
    let mut again = bytes[..length].to_vec();
    let pseudo = match protocol {
        Protocol::Icmp => Sum::default(),
        _ => pseudo_header(from, to, protocol as u8, length),
    };
    let (parts, checksum) = match transport {
        Transport::Udp(udp) => {
            assert!(length <= usize::from(u16::from_be_bytes([bytes[4], bytes[5]])));
            udp.emit(&mut again, pseudo);
            assert_eq!(again[4..6], (length as u16).to_be_bytes());
            // A datagram that was cut is written with its current length.
            ([0..4, 8..length], 6..8)
        }
        Transport::Echo(echo) => {
            assert_eq!(length, bytes.len());
            echo.emit(&mut again, protocol, pseudo);
            ([0..2, 4..length], 2..4)
        }
    };
    for part in parts {
        assert_eq!(again[part.clone()], bytes[part], "written otherwise than read");
    }
    assert_eq!(pseudo.over(&again).finish(), 0, "wrong checksum");
    if again[4..6] == bytes[4..6] && pseudo.over(&bytes[..length]).finish() == 0 {
        one_checksum(&again[checksum.clone()], &bytes[checksum]);
    }
    Ok(Sighting { transport, probe: probe(payload)?, ttl })
}

/// Assert that two right checksums of the same bytes are equal; zero can be written in two ways.
fn one_checksum(one: &[u8], other: &[u8]) {
    let zero = |sum: &[u8]| sum == [0, 0] || sum == [0xff, 0xff];
    assert!(one == other || zero(one) && zero(other), "two checksums: {one:?}, {other:?}");
}

fn probe(bytes: &[u8]) -> Result<ProbeRepr, NotAProbe> {
    let repr = ProbeRepr::parse(&ProbeView::new(bytes)?);
    let mut again = [0; PROBE_HEADER];
    repr.emit(&mut again);
    // Flags and reserved fields are written as zero.
    assert_eq!(again[..5], bytes[..5]);
    assert_eq!(again[8..], bytes[8..PROBE_HEADER], "written otherwise than read");
    Ok(repr)
}
