//! The request to stamp a probe's packets at interfaces, or at sockets, and its answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measuring::{By, Protocol};

/// Stamp a probe's packets at interfaces, or at the sockets of the service that answers them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tap {
    pub interfaces: Vec<TapInterface>,
    /// The sockets of the responder's port, in place of interfaces.
    #[serde(default)]
    pub sockets: Option<TapSockets>,
    pub filter: TapFilter,
    /// The path of a capture file to write.
    #[serde(default)]
    pub pcap: Option<String>,
    /// The most bytes of a capture that is kept in memory and sent at the end, as output; 0 for none.
    #[serde(default)]
    pub capture_bytes: usize,
    /// True if programs at the interface may be used.
    #[serde(default = "super::measuring::yes")]
    pub tcx: bool,
    /// The least time between two parts of the table `stamps` that are sent while it taps; none if left out.
    #[serde(default)]
    pub parts_ns: Option<u64>,
    /// True if one ring serves all interfaces: for many, most of which see few packets or none.
    #[serde(default)]
    pub together: bool,
    /// The most rows of the table `repeats`.
    #[serde(default = "most_repeats")]
    pub repeats: u32,
    /// The most rows of the table `segments`, which a tap of HTTP or HTTPS gives in place of stamps.
    #[serde(default)]
    pub segments: u32,
}

fn most_repeats() -> u32 {
    1 << 20
}

/// The sockets of the responder's port, and the name of their vantage point. Requests are stamped there once they have
/// passed the network stack, answers before they enter it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TapSockets {
    pub point: String,
    /// The cookie of the responder's network namespace, as its agent says in `hello`; 0 for any.
    #[serde(default)]
    pub namespace: u64,
}

/// An interface and the name of its vantage point.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TapInterface {
    pub name: String,
    pub point: String,
}

/// The packets of the probe; 0 matches any probe, identifier or port.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TapFilter {
    #[serde(default)]
    pub probe: u32,
    pub protocol: Protocol,
    /// The ICMP identifier, or the source port of the packet with sequence number 0 where ports tell packets apart.
    #[serde(default)]
    pub ident: u16,
    /// The IP version, 4 or 6.
    pub ip: u8,
    /// The responder's UDP or TCP port.
    #[serde(default)]
    pub port: u16,
    /// The number of packets that the probe sends: others have no stamps. 0 for any number.
    #[serde(default)]
    pub packets: u32,
}

impl TapFilter {
    /// Return true if the probe sends a packet with this sequence number.
    pub(crate) fn sends(&self, seq: u32) -> bool {
        self.packets == 0 || seq < self.packets
    }

    /// Return true if this is a source port of the probe: each packet has one of its own.
    pub(crate) fn sends_from(&self, port: u16) -> bool {
        port.checked_sub(self.ident).is_some_and(|seq| self.sends(seq.into()))
    }
}

/// The end of taps.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TapDone {
    pub interfaces: Vec<TapCounts>,
    /// The packets for which a capture that is sent had no room.
    pub uncaptured: u64,
}

/// The counts of one tap.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TapCounts {
    pub point: String,
    pub packets: u64,
    /// Packets that found the ring full.
    pub dropped: u32,
    /// Packets that are corrupted, fragments or cut.
    pub unparsed: u64,
    /// Packets that were seen before at the same interface.
    pub repeated: u64,
    /// Those of them for which the table `repeats` had no room, and segments for which `segments` had none.
    pub unkept: u64,
    /// Packets with the probe's number and a sequence number that the probe does not use. They have no stamp.
    pub unsent: u64,
    pub by: By,
    /// The kind of the interface's outermost queue when the tap started, and at its end.
    pub queue: String,
    pub queue_after: String,
    /// True if the queue or its settings at the end are not those of the start.
    pub queue_changed: bool,
}
