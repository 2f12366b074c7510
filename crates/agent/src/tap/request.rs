//! What a client asks of a tap.

use delaylab_os::filter::{Match, Transport};
use delaylab_wire::MAGIC;
use serde::Deserialize;

/// Bytes of a packet to keep: Ethernet, IPv6, some extension headers, ICMP and probe headers.
pub const SNAP: u32 = 128;

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
    /// Whether programs at the interface may be tried.
    #[serde(default = "yes")]
    pub tcx: bool,
}

fn yes() -> bool {
    true
}

/// An interface and the name of the vantage point that it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    pub name: String,
    pub point: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Icmp,
    Udp,
}

/// Which packets are the probe's; 0 lets any probe, identifier or port pass.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    #[serde(default)]
    pub probe: u32,
    pub protocol: Protocol,
    #[serde(default)]
    pub ident: u16,
    pub ip: u8,
    /// The responder's UDP port.
    #[serde(default)]
    pub port: u16,
}

impl Filter {
    /// Whether packets on their way there and back cannot be told apart.
    pub fn has_no_legs(&self) -> bool {
        self.protocol == Protocol::Udp && self.port == 0
    }

    /// The filter as the kernel's side has it.
    pub fn wanted(&self) -> Match {
        let transport = match self.protocol {
            Protocol::Icmp => Transport::Icmp(self.ident),
            Protocol::Udp => Transport::Udp(self.port),
        };
        let (ip, probe) = (self.ip, self.probe);
        Match { transport, ip, probe, magic: MAGIC, snap: SNAP }
    }
}
