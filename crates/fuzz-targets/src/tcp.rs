//! Target `tcp`: any bytes are a TCP segment or a reason why not.

use crate::outcome::{Outcome, inside};
use delaylab_wire::*;

/// Parse a frame. Accept it if it carries a TCP segment.
pub fn run(bytes: &[u8]) -> Outcome {
    let outcome = parse_tcp(bytes);
    assert_eq!(outcome, layers(bytes), "views and parser differ");
    if parse(bytes).is_ok() {
        assert_eq!(outcome, Err(NotAProbe::Other), "a segment is a probe packet");
    }
    let cut = parse_tcp(&bytes[..bytes.len() / 2]);
    assert!(
        matches!(cut, Err(NotAProbe::Truncated(_))) || same_header(cut, outcome),
        "cut in the middle: {cut:?}"
    );
    let segment = outcome.map_err(|reason| reason.to_string())?;
    leg(&segment);
    Ok(())
}

/// Return true if two outcomes are equal but for the data, which may be cut off.
fn same_header(cut: Result<TcpSegment, NotAProbe>, whole: Result<TcpSegment, NotAProbe>) -> bool {
    let without_data = |segment: TcpSegment| TcpSegment { has_data: false, ..segment };
    cut.map(without_data) == whole.map(without_data)
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
    let ethernet = EthernetView::new(bytes)?;
    let (protocol, payload, ttl) = match ethernet.ether_type()? {
        EtherType::Ipv4 => {
            let view = Ipv4View::new(ethernet.payload())?;
            (view.protocol()?, view.payload(), view.ttl())
        }
        EtherType::Ipv6 => {
            let view = Ipv6View::new(ethernet.payload())?;
            (view.protocol()?, view.payload(), view.hop_limit())
        }
    };
    if protocol != Protocol::Tcp {
        return Err(NotAProbe::Other);
    }
    let view = TcpView::new(payload)?;
    inside(view.payload(), payload, payload.len());
    let header = payload.len() - view.payload().len();
    assert!((TCP_HEADER..=60).contains(&header), "a header of {header} bytes");
    assert_eq!(payload[..2], view.from_port().to_be_bytes());
    assert_eq!(payload[2..4], view.to_port().to_be_bytes());
    assert_eq!(payload[13], view.flags());
    Ok(TcpSegment::parse(&view, ttl))
}
