//! Probe packets as bytes: unvalidated views of captured packets, and representations of packets to send that
//! cannot be illegal. No I/O and no clock: [`parse`] and the `emit` functions are pure.

mod checksum;
mod echo;
mod ethernet;
mod frame;
mod header;
mod ipv4;
mod ipv6;
pub mod pcapng;
mod udp;

pub use checksum::{Sum, pseudo_header};
pub use echo::{ECHO_HEADER, EchoRepr, EchoView};
pub use ethernet::{ETHERNET_HEADER, EtherType, EthernetRepr, EthernetView};
pub use frame::{Sighting, Transport, parse, parse_ip};
pub use header::{MAGIC, PROBE_HEADER, ProbeRepr, ProbeView, VERSION};
pub use ipv4::{IPV4_HEADER, Ipv4Repr, Ipv4View, Protocol};
pub use ipv6::{IPV6_HEADER, Ipv6Repr, Ipv6View};
pub use udp::{UDP_HEADER, UdpRepr, UdpView};

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

/// Big-endian reads of a slice whose length has been checked by the caller's view.
pub(crate) mod be {
    pub(crate) fn u16(bytes: &[u8], at: usize) -> u16 {
        u16::from_be_bytes([bytes[at], bytes[at + 1]])
    }

    pub(crate) fn u32(bytes: &[u8], at: usize) -> u32 {
        u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }
}
