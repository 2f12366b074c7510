//! Requests that send frames one way and drop them. Times are in ns, sizes in bytes.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mac::Mac;

/// Send frames one way, over some flows in turn.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Generate {
    /// The flows, which take turns frame by frame.
    pub flows: Vec<Flow>,
    /// The number in the probe header, if frames have room for one.
    pub probe: u32,
    pub count: u32,
    /// The time between two frames; 0 sends as fast as possible.
    pub interval_ns: u64,
    /// The length of a frame from its Ethernet header on, without check sequence: 60 to 9014.
    pub size: usize,
    /// The UDP source and destination port.
    pub port: u16,
    /// The most frames per system call.
    #[serde(default = "sixty_four")]
    pub batch: usize,
    /// True to send in real time (SCHED_FIFO) if this is allowed.
    #[serde(default)]
    pub realtime: bool,
}

fn sixty_four() -> usize {
    64
}

/// The path of a flow's frames.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    /// The interface by which they leave.
    pub interface: String,
    pub to_mac: Mac,
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
}

/// The end of a generator.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GenerateDone {
    pub sent: u64,
    /// Frames that the kernel did not take.
    pub refused: u64,
    pub slip: Late,
    /// The times of its start and end since the Unix epoch.
    #[schemars(range(min = 0))]
    pub began_ns: i64,
    #[schemars(range(min = 0))]
    pub ended_ns: i64,
    /// True if it had real-time scheduling.
    pub realtime: bool,
    /// The reason why real-time scheduling was not granted.
    pub not_realtime: Option<String>,
}

/// The lateness of frames; times are 0 if there was none. Quantiles are within 3 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Late {
    pub count: u64,
    pub mean_ns: i64,
    pub min_ns: i64,
    pub p50_ns: i64,
    pub p99_ns: i64,
    pub max_ns: i64,
}

/// Receive the packets of an IPv4 UDP port and drop them, and count a generator's frames.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Discard {
    /// The port to receive at; 0 for any.
    #[serde(default)]
    pub port: u16,
    /// The interfaces at which a generator's frames are counted.
    #[serde(default)]
    pub interfaces: Vec<String>,
}

/// The end of a sink.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DiscardDone {
    /// The frames by interface; null if none were counted.
    pub interfaces: Option<BTreeMap<String, Discarded>>,
}

/// The frames that arrived by an interface.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Discarded {
    pub received: u64,
    /// Frames that came after one with a larger number (RFC 4737).
    pub reordered: u64,
}
