//! Finding the probe packet, or the TCP segment, in a captured frame.

use crate::{
    EchoRepr, EchoView, EthernetView, IpView, ProbeRepr, ProbeView, Protocol, TcpSegment, TcpView,
    UdpRepr, UdpView,
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
    sighting(&packet_in(frame)?)
}

/// Parse the TCP segment in an Ethernet frame, which may be cut after the TCP header. Checksums are not verified. Fail
/// if the frame carries none.
pub fn parse_tcp(frame: &[u8]) -> Result<TcpSegment, NotAProbe> {
    let packet = packet_in(frame)?;
    match packet.protocol()? {
        Protocol::Tcp => {
            let view = TcpView::new(packet.payload())?;
            Ok(TcpSegment::parse(&view, packet.payload_length(), packet.ttl()))
        }
        _ => Err(NotAProbe::Other),
    }
}

/// Parse the header of the UDP datagram in an Ethernet frame, which may be cut after it. Return it with the remaining
/// time to live or hop limit. Fail if the frame carries none.
pub fn parse_datagram(frame: &[u8]) -> Result<(UdpRepr, u8), NotAProbe> {
    let packet = packet_in(frame)?;
    match packet.protocol()? {
        Protocol::Udp => Ok((UdpRepr::parse(&UdpView::new(packet.payload())?), packet.ttl())),
        _ => Err(NotAProbe::Other),
    }
}

/// Parse the probe packet in an IP packet, as a raw socket receives it. Fail if it carries no probe packet.
pub fn parse_ip(packet: &[u8]) -> Result<Sighting, NotAProbe> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => sighting(&IpView::v4(packet)?),
        Some(6) => sighting(&IpView::v6(packet)?),
        Some(_) => Err(NotAProbe::Other),
        None => Err(NotAProbe::Truncated("IP")),
    }
}

fn packet_in(frame: &[u8]) -> Result<IpView<'_>, NotAProbe> {
    IpView::in_frame(&EthernetView::new(frame)?)
}

fn sighting(packet: &IpView<'_>) -> Result<Sighting, NotAProbe> {
    let protocol = packet.protocol()?;
    let (transport, payload) = match protocol {
        Protocol::Udp => {
            let view = UdpView::new(packet.payload())?;
            (Transport::Udp(UdpRepr::parse(&view)), view.payload())
        }
        Protocol::Icmp | Protocol::Icmpv6 if packet.is_v6() == (protocol == Protocol::Icmpv6) => {
            let view = EchoView::new(packet.payload(), protocol)?;
            if view.code() != 0 {
                return Err(NotAProbe::Malformed("ICMP"));
            }
            (Transport::Echo(EchoRepr::parse(&view)), view.payload())
        }
        _ => return Err(NotAProbe::Other),
    };
    let probe = ProbeRepr::parse(&ProbeView::new(payload)?);
    Ok(Sighting { transport, probe, ttl: packet.ttl() })
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
