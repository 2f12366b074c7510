//! Seeds for the target `tcp`: segments of connections over IPv4 and IPv6, with options, data and padding.

use super::seed::{Field, Seed};
use crate::random::Random;
use delaylab_wire::*;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Generate a frame with a TCP segment. One in sixteen must be rejected: its header is shorter than it must be.
pub fn seed(random: &mut Random) -> Seed {
    let v6 = random.chance(50);
    let flawed = random.below(16) == 0;
    let segment = segment(random, flawed);
    let header = if v6 { IPV6_HEADER } else { IPV4_HEADER };
    let mut packet = vec![0; header];
    packet.extend_from_slice(&segment);
    let (protocol, hops) = (Protocol::Tcp, random.bits() as u8);
    let ether_type = if v6 {
        let (from, to) = (Ipv6Addr::from_bits(1), Ipv6Addr::from_bits(2));
        Ipv6Repr { from, to, protocol, hop_limit: hops }.emit(&mut packet);
        EtherType::Ipv6
    } else {
        let (from, to) = (Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        Ipv4Repr { from, to, protocol, ttl: hops }.emit(&mut packet);
        EtherType::Ipv4
    };
    let mut bytes = vec![0; ETHERNET_HEADER];
    EthernetRepr { to: [2; 6], from: [4; 6], ether_type }.emit(&mut bytes);
    bytes.extend_from_slice(&packet);
    if random.chance(30) {
        // Ethernet pads short frames.
        bytes.resize(bytes.len() + random.below(20), 0);
    }
    let total = ETHERNET_HEADER + if v6 { 4 } else { 2 };
    let offset = ETHERNET_HEADER + header + 12;
    let lengths = vec![
        Field { at: total, width: 2, big_endian: true },
        Field { at: offset, width: 1, big_endian: true },
    ];
    Seed { bytes, lengths, good: !flawed }
}

/// Generate a segment of one of the kinds that a connection has; if `flawed`, its header is too short.
fn segment(random: &mut Random, flawed: bool) -> Vec<u8> {
    let words = random.pick(&[5, 5, 6, 8, 10, 15]);
    let data = random.pick(&[0, 0, 0, 1, 100, 1400]);
    let mut bytes = vec![1; words * 4 + data];
    let ports = random.bits();
    bytes[..4].copy_from_slice(&(ports as u32).to_be_bytes());
    let words = if flawed { random.below(5) } else { words };
    bytes[12] = (words as u8) << 4;
    // SYN, SYN with ACK, RST, RST with ACK, ACK, PSH with ACK, FIN with ACK, and SYN with ECN.
    bytes[13] = random.pick(&[0x02, 0x12, 0x04, 0x14, 0x10, 0x18, 0x11, 0xc2]);
    bytes
}
