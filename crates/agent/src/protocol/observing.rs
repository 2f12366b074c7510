//! The request to observe the forwarding tables of nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Report the forwarding tables of network namespaces, and all that changes in them, until the client stops it.
///
/// The tables at the start come before the event `ready`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Observe {
    /// The nodes, each by its place in this list.
    pub places: Vec<ObservePlace>,
    /// The bytes of messages about a node that may wait in the kernel to be read.
    #[serde(default = "room")]
    pub room_bytes: u32,
    /// The least time between two parts of the tables.
    #[serde(default = "parts")]
    pub parts_ns: u64,
}

fn room() -> u32 {
    4 << 20
}

fn parts() -> u64 {
    10_000_000
}

/// A node whose tables are observed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObservePlace {
    pub name: String,
    /// A process in its network namespace, by its pid in the agent's PID namespace; the agent's own namespace if left
    /// out. The node is gone when this process is.
    #[serde(default)]
    pub pid: Option<i32>,
}

/// The end of an observation.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ObserveDone {
    /// Rows of the table `changes` after the event `ready`.
    pub changes: u64,
    /// Messages of the kernel that were read.
    pub messages: u64,
    /// Times that the kernel had no room for a message.
    pub lost: u64,
    /// Times that a node's tables were read again, to learn what the kernel does not tell.
    pub read_again: u64,
    /// True if the observer ran with real-time priority.
    pub realtime: bool,
}
