//! Finding the probe packet, or the TCP segment, in a captured frame.

use crate::{
    EchoRepr, EchoView, EtherType, EthernetView, Ipv4View, Ipv6View, ProbeRepr, ProbeView,
    Protocol, TcpSegment, TcpView, UdpRepr, UdpView,
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
    packet_in(frame)?.sighting()
}

/// Parse the TCP segment in an Ethernet frame, which may be cut after the TCP header; a segment with data must
/// have some of it. Checksums are not verified. Fail if the frame carries none.
pub fn parse_tcp(frame: &[u8]) -> Result<TcpSegment, NotAProbe> {
    let packet = packet_in(frame)?;
    match packet.protocol {
        Protocol::Tcp => Ok(TcpSegment::parse(&TcpView::new(packet.payload)?, packet.ttl)),
        _ => Err(NotAProbe::Other),
    }
}

/// Parse the probe packet in an IP packet, as a raw socket receives it. Fail if it carries no probe packet.
pub fn parse_ip(packet: &[u8]) -> Result<Sighting, NotAProbe> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => Packet::ipv4(packet)?.sighting(),
        Some(6) => Packet::ipv6(packet)?.sighting(),
        Some(_) => Err(NotAProbe::Other),
        None => Err(NotAProbe::Truncated("IP")),
    }
}

/// The parts of an IP packet that matter to probes.
struct Packet<'a> {
    protocol: Protocol,
    payload: &'a [u8],
    ttl: u8,
}

/// Find the IP packet in an Ethernet frame.
fn packet_in(frame: &[u8]) -> Result<Packet<'_>, NotAProbe> {
    let ethernet = EthernetView::new(frame)?;
    match ethernet.ether_type()? {
        EtherType::Ipv4 => Packet::ipv4(ethernet.payload()),
        EtherType::Ipv6 => Packet::ipv6(ethernet.payload()),
    }
}

impl<'a> Packet<'a> {
    fn ipv4(packet: &'a [u8]) -> Result<Self, NotAProbe> {
        let view = Ipv4View::new(packet)?;
        match view.protocol()? {
            Protocol::Icmpv6 => Err(NotAProbe::Other),
            protocol => Ok(Self { protocol, payload: view.payload(), ttl: view.ttl() }),
        }
    }

    fn ipv6(packet: &'a [u8]) -> Result<Self, NotAProbe> {
        let view = Ipv6View::new(packet)?;
        match view.protocol()? {
            Protocol::Icmp => Err(NotAProbe::Other),
            protocol => Ok(Self { protocol, payload: view.payload(), ttl: view.hop_limit() }),
        }
    }

    fn sighting(&self) -> Result<Sighting, NotAProbe> {
        let (transport, payload) = match self.protocol {
            Protocol::Tcp => return Err(NotAProbe::Other),
            Protocol::Udp => {
                let view = UdpView::new(self.payload)?;
                (Transport::Udp(UdpRepr::parse(&view)), view.payload())
            }
            Protocol::Icmp | Protocol::Icmpv6 => {
                let view = EchoView::new(self.payload, self.protocol)?;
                if view.code() != 0 {
                    return Err(NotAProbe::Malformed("ICMP"));
                }
                (Transport::Echo(EchoRepr::parse(&view)), view.payload())
            }
        };
        let probe = ProbeRepr::parse(&ProbeView::new(payload)?);
        Ok(Sighting { transport, probe, ttl: self.ttl })
    }
}

/// The half of a round trip that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Leg {
    /// The request, from the probe's sender to its responder.
    Request = 0,
    /// The reply, from the responder to the sender.
    Reply = 1,
}

/// A reason why bytes are not a probe packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAProbe {
    /// The bytes end before the header that should follow.
    #[error("truncated {0} header")]
    Truncated(&'static str),
    /// A field has a value that no probe packet has.
    #[error("malformed {0} header")]
    Malformed(&'static str),
    /// The packet is a fragment. Only the first fragment would carry the header, so none is counted.
    #[error("IP fragment")]
    Fragment,
    /// The packet has another protocol, another ICMP type, or a payload that is not a probe's.
    #[error("not a probe's packet")]
    Other,
}
