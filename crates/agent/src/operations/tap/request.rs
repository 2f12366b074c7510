//! The request `tap`.

use crate::operations::protocol::Protocol;
use delaylab_os::socket::probe_match::{Match, Transport};
use delaylab_wire::MAGIC;
use serde::Deserialize;

/// The bytes of a packet that a capture file has: Ethernet, IPv6, some extension headers, ICMP and probe headers.
pub const SNAP: u32 = 128;
/// The bytes that a ring keeps of a packet, to check its checksum: all of it. Of TCP, all that an Ethernet frame
/// carries: longer segments are of this machine's own making, and their checksums left to the interface.
const WHOLE: u32 = 65535 + 18;
const WHOLE_SEGMENT: u32 = 2048;

/// The request `tap` of `docs/protocol.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(rename = "op")]
    _op: String,
    pub interfaces: Vec<Interface>,
    pub filter: Filter,
    #[serde(default)]
    pub pcap: Option<String>,
    /// True if programs at the interface may be used.
    #[serde(default = "yes")]
    pub tcx: bool,
}

fn yes() -> bool {
    true
}

/// An interface and the name of its vantage point.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    pub name: String,
    pub point: String,
}

/// The packets of the probe; 0 matches any probe, identifier or port.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    #[serde(default)]
    pub probe: u32,
    pub protocol: Protocol,
    /// The ICMP identifier; by TCP the source port of the packet with sequence number 0.
    #[serde(default)]
    pub ident: u16,
    pub ip: u8,
    /// The responder's UDP or TCP port.
    #[serde(default)]
    pub port: u16,
}

impl Filter {
    /// Return true if requests and replies cannot be told apart.
    pub fn has_no_legs(&self) -> bool {
        self.protocol == Protocol::Udp && self.port == 0
    }

    /// Return the filter for the kernel.
    pub fn wanted(&self) -> Match {
        let transport = match self.protocol {
            Protocol::Icmp => Transport::Icmp(self.ident),
            Protocol::Udp => Transport::Udp(self.port),
            Protocol::Tcp => Transport::Tcp(self.port),
            Protocol::Http => Transport::TcpData(self.port),
        };
        let (ip, probe) = (self.ip, self.probe);
        let snap = if self.protocol.connects() { WHOLE_SEGMENT } else { WHOLE };
        Match { transport, ip, probe, magic: MAGIC, snap }
    }
}
