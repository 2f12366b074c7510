//! Probe packets as bytes: unvalidated views for what was captured, representations that cannot
//! be illegal for what is sent. No I/O and no clock: [`parse`] and the `emit` functions are pure.

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

/// Which half of a round trip a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Leg {
    /// From the sender of the probe to its responder.
    Request = 0,
    /// From the responder back.
    Reply = 1,
}

/// Why bytes are not a probe packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAProbe {
    /// The bytes end before the header that should follow.
    #[error("truncated {0} header")]
    Truncated(&'static str),
    /// A field has a value that no probe packet has.
    #[error("malformed {0} header")]
    Malformed(&'static str),
    /// A fragment: only the first would carry the header, so none is counted.
    #[error("IP fragment")]
    Fragment,
    /// Another protocol, another ICMP type, or a payload that is not a probe's.
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
