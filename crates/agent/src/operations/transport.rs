//! The packets of a probe's protocols that have no probe header, and the connections that they are on.

use delaylab_os::clock::Span;
use delaylab_wire::{Leg, NotAProbe, parse_datagram, parse_tcp};

use super::stream_bytes::Run;
use crate::protocol::measuring::Protocol;

/// A captured packet of a probe that is known by its source port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketByPort {
    pub leg: Leg,
    /// The port at the sender's end.
    pub port: u16,
    /// The remaining time to live or hop limit.
    pub ttl: u8,
}

/// A captured segment of a stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamSegment {
    pub packet: PacketByPort,
    /// True if it opens the connection in its direction: `run` then begins at the first byte of data.
    pub opens: bool,
    /// The bytes that it carries, possibly none.
    pub run: Run,
}

impl Protocol {
    /// Return true if packets are known by their source port, since they have no probe header.
    pub(crate) fn by_port(self) -> bool {
        !matches!(self, Self::Icmp | Self::Udp)
    }

    /// Return true if packets are on connections of TCP.
    pub(crate) fn connects(self) -> bool {
        self == Self::Tcp || self.has_streams()
    }

    /// Return true if a packet is a request, or its answer, in the stream of bytes of a TCP connection.
    pub(crate) fn has_streams(self) -> bool {
        matches!(self, Self::Http | Self::Https)
    }

    /// Return true if a packet is a request to a service, with an answer of its own.
    pub(crate) fn asks(self) -> bool {
        self.has_streams() || self.has_datagrams()
    }

    /// Return true if a packet is a datagram of somebody else's protocol.
    pub(crate) fn has_datagrams(self) -> bool {
        matches!(self, Self::Dns | Self::Datagram)
    }

    /// Return the handshake's segment, or the datagram, in a frame, by the responder's port; `None` if the frame
    /// carries another packet of that port. Fail if it carries none.
    pub(crate) fn packet_in(
        self,
        frame: &[u8],
        responder_port: u16,
    ) -> Result<Option<PacketByPort>, NotAProbe> {
        if self.has_datagrams() {
            let (udp, ttl) = parse_datagram(frame)?;
            return Ok(match responder_port {
                port if port == udp.to_port => {
                    Some(PacketByPort { leg: Leg::Request, port: udp.from_port, ttl })
                }
                port if port == udp.from_port => {
                    Some(PacketByPort { leg: Leg::Reply, port: udp.to_port, ttl })
                }
                _ => None,
            });
        }
        let segment = parse_tcp(frame)?;
        let leg = segment.leg_of_handshake(responder_port);
        Ok(leg.map(|leg| PacketByPort { leg, port: segment.sender_port(leg), ttl: segment.ttl }))
    }
}

/// Return the segment of a stream in a frame, by the responder's port; `None` if the frame carries another packet of
/// that port. Fail if it carries none.
pub(crate) fn stream_segment_in(
    frame: &[u8],
    responder_port: u16,
) -> Result<Option<StreamSegment>, NotAProbe> {
    let segment = parse_tcp(frame)?;
    Ok(segment.direction(responder_port).map(|leg| {
        let packet = PacketByPort { leg, port: segment.sender_port(leg), ttl: segment.ttl };
        let sequence = segment.sequence.wrapping_add(u32::from(segment.is_syn()));
        let run = Run { sequence, length: segment.length };
        StreamSegment { packet, opens: segment.is_syn(), run }
    }))
}

/// The time after which a SYN without an answer is given up for lost. The kernel would send it again after
/// 1 s, and an answer to either could not be told apart.
pub(super) const SYN_GIVEN_UP: Span =
    Span::from_ns(delaylab_os::socket::connection::SYN_RETRANSMISSION_NS * 9 / 10);
