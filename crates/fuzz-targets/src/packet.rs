//! Target `packet`: any bytes are a probe packet or a reason why not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use delaylab_wire::*;

use crate::mutate::{Field, Random, Seed};
use crate::{Outcome, inside};

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
    let _ = ip(bytes, |bytes| IpView::v4(bytes));
    let _ = ip(bytes, |bytes| IpView::v6(bytes));
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

/// A constructor of the view of an IP packet.
type Wrap = fn(&[u8]) -> Result<IpView<'_>, NotAProbe>;

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
        EtherType::Ipv4 => ip(payload, |bytes| IpView::v4(bytes)),
        EtherType::Ipv6 => ip(payload, |bytes| IpView::v6(bytes)),
    }
}

fn ip(bytes: &[u8], wrap: Wrap) -> Result<Sighting, NotAProbe> {
    let view = wrap(bytes)?;
    let (v6, payload) = (view.is_v6(), view.payload());
    let (at, beyond) = if v6 { (4, IPV6_HEADER) } else { (2, 0) };
    let total = beyond + usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    inside(payload, bytes, total);
    let repr = IpRepr::parse(&view)?;
    let mut again = vec![0; repr.length()];
    again.extend_from_slice(payload);
    repr.emit(&mut again);
    let sum = |bytes: &[u8]| Sum::default().over(&bytes[..IPV4_HEADER]).finish();
    assert!(v6 || sum(&again) == 0, "wrong checksum");
    let same = wrap(&again).expect("what was written is read");
    assert_eq!(IpRepr::parse(&same), Ok(repr));
    assert_eq!(same.payload(), payload);
    if total == again.len() && bytes.len() >= total {
        assert_eq!(again[0] >> 4, bytes[0] >> 4);
        // Except for the type of service, the identification, the flags and so the checksum; for the traffic class
        // and the flow label.
        let parts = match v6 {
            true => vec![4..IPV6_HEADER, IPV6_HEADER..total],
            false => vec![0..1, 2..4, 8..10, 12..total],
        };
        for part in parts {
            assert_eq!(again[part.clone()], bytes[part], "written otherwise than read");
        }
        if !v6 && again[..10] == bytes[..10] && sum(bytes) == 0 {
            one_checksum(&again[10..12], &bytes[10..12]);
        }
    }
    match (repr.protocol, v6) {
        (Protocol::Tcp, _) | (Protocol::Icmpv6, false) | (Protocol::Icmp, true) => {
            Err(NotAProbe::Other)
        }
        (protocol, _) => transport(payload, protocol, repr.ttl, (repr.from, repr.to)),
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

/// Generate a frame with a probe packet. Three in sixteen must be rejected: fragments, and ICMP in the other
/// version of IP.
pub fn seed(random: &mut Random) -> Seed {
    let v6 = random.chance(50);
    let tags = random.pick(&[0, 0, 1, 2]);
    let ip = ETHERNET_HEADER + 4 * tags;
    let flaw = random.below(16);
    let (fragment, crossed) = (flaw < 2, flaw == 2);
    let mut lengths = Vec::new();
    let field = |at| Field { at, width: 2, big_endian: true };

    let size = PROBE_HEADER + random.pick(&[0, 0, 8, 32, 200, 1400]);
    let (from, to) = addresses(random, v6);
    let (protocol, transport) = transport_seed(random, from, to, size, crossed);
    let extra = if v6 { extensions(random, protocol, fragment) } else { options(random) };
    let header = if v6 { IPV6_HEADER } else { IPV4_HEADER };
    let start = ip + header + extra.bytes.len();
    if protocol == Protocol::Udp {
        lengths.push(field(start + 4));
    }
    lengths.extend(extra.lengths.iter().map(|at| Field {
        at: ip + header + at,
        width: 1,
        big_endian: true,
    }));
    lengths.push(field(ip + if v6 { 4 } else { 2 }));

    let mut packet = vec![0; header];
    packet.extend_from_slice(&extra.bytes);
    packet.extend_from_slice(&transport);
    IpRepr { from, to, protocol, ttl: random.bits() as u8 }.emit(&mut packet);
    if v6 {
        packet[6] = extra.first.unwrap_or(protocol as u8);
    } else {
        packet[0] += (extra.bytes.len() / 4) as u8;
        if fragment {
            let flags = random.pick(&[[0x20, 0], [0, 1], [0x1f, 0xff]]);
            packet[6..8].copy_from_slice(&flags);
        }
    }

    let mut bytes = ethernet(random, v6, tags);
    bytes.extend_from_slice(&packet);
    match random.below(4) {
        0 => bytes.truncate(start + UDP_HEADER + PROBE_HEADER + random.below(8)),
        1 => bytes.resize(bytes.len() + random.below(20), 0),
        _ => {}
    }
    Seed { bytes, lengths, good: !fragment && !crossed }
}

fn addresses(random: &mut Random, v6: bool) -> (IpAddr, IpAddr) {
    let mut address = || match v6 {
        true => IpAddr::V6(Ipv6Addr::from_bits(u128::from(random.bits()) << 3)),
        false => IpAddr::V4(Ipv4Addr::from_bits(random.bits() as u32)),
    };
    (address(), address())
}

/// Generate an Ethernet header with `tags` tags of 802.1Q and 802.1ad.
fn ethernet(random: &mut Random, v6: bool, tags: usize) -> Vec<u8> {
    let ether_type = if v6 { EtherType::Ipv6 } else { EtherType::Ipv4 };
    let mut bytes = vec![0; ETHERNET_HEADER];
    EthernetRepr { to: [2; 6], from: [4; 6], ether_type }.emit(&mut bytes);
    for _ in 0..tags {
        let kind = random.pick(&[[0x81, 0x00], [0x88, 0xa8]]);
        bytes.splice(12..12, [kind[0], kind[1], 0, 7]);
    }
    bytes
}

/// Generate an ICMP message or a UDP datagram with a probe header and `size` bytes behind its own header; if
/// `crossed`, ICMP for the other version of IP.
fn transport_seed(
    random: &mut Random,
    from: IpAddr,
    to: IpAddr,
    size: usize,
    crossed: bool,
) -> (Protocol, Vec<u8>) {
    let mut bytes = vec![0; UDP_HEADER + size];
    let [probe, seq] = [random.bits() as u32, random.bits() as u32];
    ProbeRepr { probe, seq, nonce: random.bits() }.emit(&mut bytes[UDP_HEADER..]);
    let protocol = match (random.chance(50), from.is_ipv6() != crossed) {
        (true, _) if !crossed => Protocol::Udp,
        (_, false) => Protocol::Icmp,
        (_, true) => Protocol::Icmpv6,
    };
    let pseudo = match protocol {
        Protocol::Icmp => Sum::default(),
        _ => pseudo_header(from, to, protocol as u8, bytes.len()),
    };
    let [one, two] = [random.bits() as u16, random.bits() as u16];
    if protocol == Protocol::Udp {
        UdpRepr { from_port: one, to_port: two }.emit(&mut bytes, pseudo);
    } else {
        let leg = random.pick(&[Leg::Request, Leg::Reply]);
        EchoRepr { leg, ident: one, seq: two }.emit(&mut bytes, protocol, pseudo);
    }
    (protocol, bytes)
}

/// The bytes between an IP header and its payload.
struct Extra {
    bytes: Vec<u8>,
    /// The number of the first extension header, if any.
    first: Option<u8>,
    /// The offsets of length fields in it.
    lengths: Vec<usize>,
}

/// Generate IPv4 options, up to the maximum of 40 bytes.
fn options(random: &mut Random) -> Extra {
    let words = random.pick(&[0, 0, 1, 2, 10]);
    Extra { bytes: vec![1; 4 * words], first: None, lengths: Vec::new() }
}

/// Generate up to three IPv6 extension headers; for a fragment a fragment header follows.
fn extensions(random: &mut Random, protocol: Protocol, fragment: bool) -> Extra {
    let mut numbers: Vec<u8> = Vec::new();
    for _ in 0..random.pick(&[0, 0, 1, 3]) {
        numbers.push(random.pick(&[0, 43, 60]));
    }
    if fragment {
        numbers.push(44);
    }
    let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
    for at in 0..numbers.len() {
        let next = numbers.get(at + 1).copied().unwrap_or(protocol as u8);
        // A fragment header's second byte is reserved, and its size is fixed.
        let units = if numbers[at] == 44 { 0 } else { random.pick(&[0, 0, 1, 4]) };
        lengths.push(bytes.len() + 1);
        let end = bytes.len() + 8 * (usize::from(units) + 1);
        bytes.extend_from_slice(&[next, units]);
        bytes.resize(end, 1);
    }
    Extra { bytes, first: numbers.first().copied(), lengths }
}
