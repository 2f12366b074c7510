//! The connections and the legs of a probe's protocols.

use delaylab_os::clock::Span;
use delaylab_wire::{Leg, TcpSegment};

use crate::protocol::measuring::Protocol;

impl Protocol {
    /// Return true if each packet has a TCP connection of its own, by whose source port it is known. Others have a
    /// probe header, which names probe and sequence number.
    pub(crate) fn connects(self) -> bool {
        matches!(self, Self::Tcp | Self::Http)
    }

    /// Return the leg of a TCP segment at a probe's responder port; `None` if it is not a packet of the probe.
    pub(crate) fn leg(self, segment: &TcpSegment, port: u16) -> Option<Leg> {
        match self {
            Self::Tcp => segment.leg_of_handshake(port),
            Self::Http => segment.leg_of_exchange(port),
            Self::Icmp | Self::Udp => None,
        }
    }
}

/// The time after which a SYN without an answer is given up for lost. The kernel would send it again after
/// 1 s, and an answer to either could not be told apart.
pub(super) const SYN_GIVEN_UP: Span =
    Span::from_ns(delaylab_os::socket::connection::SYN_RETRANSMISSION_NS * 9 / 10);
