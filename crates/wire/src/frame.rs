//! Finding the probe packet in a captured frame.

use crate::{
    EchoRepr, EchoView, EtherType, EthernetView, Ipv4View, Ipv6View, Leg, NotAProbe, ProbeRepr,
    ProbeView, Protocol, UdpRepr, UdpView,
};

/// The transport header of a probe packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// ICMP or ICMPv6 echo.
    Echo(EchoRepr),
    /// UDP.
    Udp(UdpRepr),
}

/// A probe packet seen in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The transport header.
    pub transport: Transport,
    /// The probe header.
    pub probe: ProbeRepr,
    /// The remaining time to live or hop limit.
    pub ttl: u8,
}

impl Sighting {
    /// Return the leg that the packet belongs to. An echo carries it; a UDP datagram to the responder's port
    /// is a request, one from that port a reply. Return `None` for UDP between other ports.
    pub fn leg(&self, responder_port: u16) -> Option<Leg> {
        match self.transport {
            Transport::Echo(echo) => Some(echo.leg),
            Transport::Udp(udp) if udp.to_port == responder_port => Some(Leg::Request),
            Transport::Udp(udp) if udp.from_port == responder_port => Some(Leg::Reply),
            Transport::Udp(_) => None,
        }
    }
}

/// Parse the probe packet in an Ethernet frame, which may be cut after the probe header. Checksums are not
/// verified: with offloads a captured packet has none yet. Fail if the frame carries no probe packet.
pub fn parse(frame: &[u8]) -> Result<Sighting, NotAProbe> {
    let ethernet = EthernetView::new(frame)?;
    match ethernet.ether_type()? {
        EtherType::Ipv4 => parse_ipv4(ethernet.payload()),
        EtherType::Ipv6 => parse_ipv6(ethernet.payload()),
    }
}

/// Parse the probe packet in an IP packet, as a raw socket receives it. Fail if it carries no probe packet.
pub fn parse_ip(packet: &[u8]) -> Result<Sighting, NotAProbe> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => parse_ipv4(packet),
        Some(6) => parse_ipv6(packet),
        Some(_) => Err(NotAProbe::Other),
        None => Err(NotAProbe::Truncated("IP")),
    }
}

fn parse_ipv4(packet: &[u8]) -> Result<Sighting, NotAProbe> {
    let view = Ipv4View::new(packet)?;
    match view.protocol()? {
        Protocol::Icmpv6 => Err(NotAProbe::Other),
        protocol => parse_transport(view.payload(), protocol, view.ttl()),
    }
}

fn parse_ipv6(packet: &[u8]) -> Result<Sighting, NotAProbe> {
    let view = Ipv6View::new(packet)?;
    match view.protocol()? {
        Protocol::Icmp => Err(NotAProbe::Other),
        protocol => parse_transport(view.payload(), protocol, view.hop_limit()),
    }
}

fn parse_transport(bytes: &[u8], protocol: Protocol, ttl: u8) -> Result<Sighting, NotAProbe> {
    let (transport, payload) = if protocol == Protocol::Udp {
        let view = UdpView::new(bytes)?;
        (Transport::Udp(UdpRepr::parse(&view)), view.payload())
    } else {
        let view = EchoView::new(bytes, protocol)?;
        (Transport::Echo(EchoRepr::parse(&view)), view.payload())
    };
    let probe = ProbeRepr::parse(&ProbeView::new(payload)?);
    Ok(Sighting { transport, probe, ttl })
}
