//! Whole frames, built from representations, parsed back, and cut short.

use delaylab_wire::*;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Build a frame with `size` bytes of payload, which start with the probe header.
fn frame(v6: bool, transport: Transport, probe: ProbeRepr, size: usize) -> Vec<u8> {
    let protocol = match (transport, v6) {
        (Transport::Udp(_), _) => Protocol::Udp,
        (Transport::Echo(_), true) => Protocol::Icmpv6,
        (Transport::Echo(_), false) => Protocol::Icmp,
    };
    let (from, to): (IpAddr, IpAddr) = if v6 {
        (Ipv6Addr::from(1u128).into(), Ipv6Addr::from(2u128).into())
    } else {
        (Ipv4Addr::from(1u32).into(), Ipv4Addr::from(2u32).into())
    };
    let ip = IpRepr { from, to, protocol, ttl: 64 };
    let network = ETHERNET_HEADER + ip.length();
    let mut bytes = vec![0; network + UDP_HEADER + size];
    probe.emit(&mut bytes[network + UDP_HEADER..]);
    let pseudo = match (transport, v6) {
        (Transport::Echo(_), false) => Sum::default(),
        _ => pseudo_header(from, to, protocol as u8, UDP_HEADER + size),
    };
    match transport {
        Transport::Udp(udp) => udp.emit(&mut bytes[network..], pseudo),
        Transport::Echo(echo) => echo.emit(&mut bytes[network..], protocol, pseudo),
    }
    ip.emit(&mut bytes[ETHERNET_HEADER..]);
    EthernetRepr { to: [2; 6], from: [4; 6], ether_type: ip.ether_type() }.emit(&mut bytes);
    bytes
}

fn any_transport() -> impl Strategy<Value = Transport> {
    prop_oneof![
        (any::<bool>(), any::<u16>(), any::<u16>()).prop_map(|(reply, ident, seq)| {
            let leg = if reply { Leg::Reply } else { Leg::Request };
            Transport::Echo(EchoRepr { leg, ident, seq })
        }),
        (any::<u16>(), any::<u16>())
            .prop_map(|(from_port, to_port)| Transport::Udp(UdpRepr { from_port, to_port })),
    ]
}

proptest! {
    #[test]
    fn a_frame_gives_back_its_packet_even_cut_after_the_header(
        v6: bool, transport in any_transport(), probe: u32, seq: u32, nonce: u64,
        size in PROBE_HEADER..200,
    ) {
        let probe = ProbeRepr { probe, seq, nonce };
        let bytes = frame(v6, transport, probe, size);
        let cut = bytes.len() - size + PROBE_HEADER;
        for captured in [&bytes[..], &bytes[..cut], &[&bytes[..], &[0; 18]].concat()] {
            prop_assert_eq!(parse(captured).unwrap(), Sighting { transport, probe, ttl: 64 });
        }
        prop_assert!(matches!(parse(&bytes[..cut - 1]), Err(NotAProbe::Truncated(_))));
    }
}

#[test]
fn the_leg_is_that_of_the_echo_or_of_the_port() {
    let probe = ProbeRepr { probe: 1, seq: 2, nonce: 3 };
    let leg = |transport, port| parse(&frame(false, transport, probe, 24)).unwrap().leg(port);
    let echo = |leg| Transport::Echo(EchoRepr { leg, ident: 1, seq: 2 });
    assert_eq!(leg(echo(Leg::Request), 0), Some(Leg::Request));
    assert_eq!(leg(echo(Leg::Reply), 0), Some(Leg::Reply));
    let udp = Transport::Udp(UdpRepr { from_port: 5, to_port: 6 });
    assert_eq!(leg(udp, 6), Some(Leg::Request));
    assert_eq!(leg(udp, 5), Some(Leg::Reply));
    assert_eq!(leg(udp, 7), None);
}
