//! Seeds for the target `packet`: IPv4 and IPv6, ICMP and UDP, with tags, options, extension headers,
//! padding, cut behind the probe header, and fragments.

use super::seed::{Field, Seed};
use crate::random::Random;
use delaylab_wire::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
    let (protocol, transport) = transport(random, from, to, size, crossed);
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
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            Ipv4Repr { from, to, protocol, ttl: random.bits() as u8 }.emit(&mut packet);
            packet[0] += (extra.bytes.len() / 4) as u8;
            if fragment {
                let [high, low] = random.pick(&[[0x20, 0], [0, 1], [0x1f, 0xff]]);
                packet[6..8].copy_from_slice(&[high, low]);
            }
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            Ipv6Repr { from, to, protocol, hop_limit: random.bits() as u8 }.emit(&mut packet);
            packet[6] = extra.first.unwrap_or(protocol as u8);
        }
        _ => unreachable!("both of one family"),
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
fn transport(
    random: &mut Random,
    from: IpAddr,
    to: IpAddr,
    size: usize,
    crossed: bool,
) -> (Protocol, Vec<u8>) {
    let mut bytes = vec![0; UDP_HEADER + size];
    let [probe, seq] = [random.bits() as u32, random.bits() as u32];
    ProbeRepr { probe, seq, intended_ns: random.bits() as i64 }.emit(&mut bytes[UDP_HEADER..]);
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
