//! The request for how packets of probes passed the links of a host, and its answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Report how packets of probes passed the links: when each came and left, and the queue that it found. An engine keeps
/// the last 524288 passages.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkPassages {
    pub packets: Vec<WantedPacket>,
}

/// A packet of a probe, and the times between which its passages ended, in ns since the Unix epoch.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedPacket {
    pub probe: u32,
    pub seq: u32,
    pub from_ns: i64,
    pub to_ns: i64,
}

/// The passages of the packets, in the order in which the packets were named; of each packet the first to end comes first.
/// The engine forgets the oldest passages, and the kernel's engine keeps none.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkPassagesDone {
    pub passages: Vec<PassageReport>,
}

/// The passage of a packet through one direction. Times are in ns since the Unix epoch.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PassageReport {
    pub probe: u32,
    pub seq: u32,
    pub link: String,
    /// The node that sends, or receives; null behind an uplink.
    pub node: Option<String>,
    /// True if the direction is what the node receives.
    pub receives: bool,
    pub fate: Fate,
    pub came_ns: i64,
    /// The time at which it began to leave: until then it waited in the queue.
    pub began_ns: i64,
    /// The time at which all of it had left, as the rate has it.
    pub left_ns: i64,
    /// The time at which the link's delay was over.
    pub due_ns: i64,
    /// The time at which it was sent, or dropped.
    pub ended_ns: i64,
    /// The frames and bytes that waited in the queue when it came.
    pub queue_frames: u64,
    pub queue_bytes: u64,
    /// The IP or MAC address of the sender of most of these bytes, and how many they are; null without a queue.
    pub most_from: Option<String>,
    pub most_bytes: u64,
}

/// The end of a packet's passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fate {
    /// It left.
    Sent,
    /// The configured loss.
    Loss,
    /// A full queue.
    Queue,
    /// A drop by the queue's discipline.
    Early,
    /// The link was not up, or the interface that it was to leave by.
    Down,
    /// The interface did not take it.
    Interface,
}
