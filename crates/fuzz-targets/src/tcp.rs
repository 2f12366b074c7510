//! Target `tcp`: any bytes are a TCP segment or a reason why not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use delaylab_wire::*;

use crate::mutate::{Field, Random, Seed};
use crate::{Outcome, inside};

/// Parse a frame. Accept it if it carries a TCP segment.
pub fn run(bytes: &[u8]) -> Outcome {
    let outcome = parse_tcp(bytes);
    assert_eq!(outcome, layers(bytes), "views and parser differ");
    if parse(bytes).is_ok() {
        assert_eq!(outcome, Err(NotAProbe::Other), "a segment is a probe packet");
    }
    let cut = parse_tcp(&bytes[..bytes.len() / 2]);
    assert!(
        matches!(cut, Err(NotAProbe::Truncated(_))) || cut == outcome,
        "cut in the middle: {cut:?}"
    );
    let segment = outcome.map_err(|reason| reason.to_string())?;
    leg(&segment);
    Ok(())
}

fn leg(segment: &TcpSegment) {
    let TcpSegment { from_port, to_port, .. } = *segment;
    for port in [from_port, to_port] {
        match segment.leg_of_handshake(port) {
            Some(Leg::Request) => assert_eq!(to_port, port),
            Some(Leg::Reply) => assert_eq!(from_port, port),
            None => {}
        }
    }
    let other = (0..=2).find(|port| ![from_port, to_port].contains(port));
    assert_eq!(segment.leg_of_handshake(other.expect("one of three")), None);
}

/// Parse by the views alone, and check the last of them.
fn layers(bytes: &[u8]) -> Result<TcpSegment, NotAProbe> {
    let packet = IpView::in_frame(&EthernetView::new(bytes)?)?;
    if packet.protocol()? != Protocol::Tcp {
        return Err(NotAProbe::Other);
    }
    let payload = packet.payload();
    let view = TcpView::new(payload)?;
    inside(view.payload(), payload, payload.len());
    let header = payload.len() - view.payload().len();
    assert!((TCP_HEADER..=60).contains(&header), "a header of {header} bytes");
    assert_eq!(payload[..2], view.from_port().to_be_bytes());
    assert_eq!(payload[2..4], view.to_port().to_be_bytes());
    assert_eq!(payload[4..8], view.sequence().to_be_bytes());
    assert_eq!(payload[13], view.flags());
    Ok(TcpSegment::parse(&view, packet.payload_length(), packet.ttl()))
}

/// Generate a frame with a TCP segment. One in sixteen must be rejected: its header is shorter than it must be.
pub fn seed(random: &mut Random) -> Seed {
    let v6 = random.chance(50);
    let flawed = random.below(16) == 0;
    let segment = segment(random, flawed);
    let (from, to): (IpAddr, IpAddr) = match v6 {
        true => (Ipv6Addr::from_bits(1).into(), Ipv6Addr::from_bits(2).into()),
        false => (Ipv4Addr::from_bits(1).into(), Ipv4Addr::from_bits(2).into()),
    };
    let ip = IpRepr { from, to, protocol: Protocol::Tcp, ttl: random.bits() as u8 };
    let header = ip.length();
    let mut bytes = vec![0; ETHERNET_HEADER + header];
    bytes.extend_from_slice(&segment);
    EthernetRepr { to: [2; 6], from: [4; 6], ether_type: ip.ether_type() }.emit(&mut bytes);
    ip.emit(&mut bytes[ETHERNET_HEADER..]);
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
