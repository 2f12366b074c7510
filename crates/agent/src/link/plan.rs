//! The links of a host in a plan (docs/protocol.md, "Links").

use delaylab_wire::{ETHERNET_HEADER, VLAN_TAG};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::network::mac::Mac;

/// All links of one engine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Links {
    /// The kind of engine.
    #[serde(default)]
    pub engine: EngineKind,
    #[serde(default)]
    pub seed: u64,
    /// True to forward in real time, if this is allowed.
    #[serde(default = "yes")]
    pub realtime: bool,
    /// The limit on memory for frames under way, in bytes.
    #[serde(default = "quarter_gigabyte")]
    pub memory_bytes: u64,
    pub links: Vec<Link>,
    /// Timed changes, counted from the engine's start.
    #[serde(default)]
    pub timeline: Vec<Moment>,
}

/// A kind of link engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// delaylab's own: a process that receives each frame and sends it when it is due.
    #[default]
    Own,
    /// The kernel's bridges and queues.
    Kernel,
}

/// A link: a cable between two ports, or a network that its ports share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub link: String,
    #[serde(default = "ethernet_mtu")]
    pub mtu: u32,
    pub members: Vec<Member>,
}

/// One end of a link on this host.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The interface in this host's network namespace.
    pub port: String,
    /// The node behind the port; `None` behind an uplink.
    #[serde(default)]
    pub node: Option<String>,
    /// The node's own interface, unless it is in a virtual machine.
    #[serde(default)]
    pub card: Option<Card>,
    /// The MAC addresses known to be behind the port.
    #[serde(default)]
    pub macs: Vec<Mac>,
    /// The conditions of frames that arrive at the port.
    #[serde(default = "nothing")]
    pub conditions: Value,
}

/// A node's own interface, in the network namespace of an agent.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    pub r#in: String,
    pub on: String,
}

/// The changes at one moment of the timeline.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    pub at_ns: u64,
    pub changes: Vec<Change>,
}

/// A change of the conditions of one node's frames on a link: the keys of `set`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub link: String,
    pub node: String,
    pub set: Value,
}

impl Links {
    /// Return all members with their links, in the order of their directions.
    pub fn members(&self) -> impl Iterator<Item = (&Link, &Member)> {
        self.links.iter().flat_map(|link| link.members.iter().map(move |member| (link, member)))
    }

    /// Return the names of all ports, in the order of their directions.
    pub fn ports(&self) -> impl Iterator<Item = &str> {
        self.members().map(|(_, member)| member.port.as_str())
    }

    /// Return the length of the longest frame that any link carries, from its Ethernet header on.
    pub fn longest_frame(&self) -> usize {
        let mtu = self.links.iter().map(|link| link.mtu).max().unwrap_or(0);
        mtu as usize + ETHERNET_HEADER + VLAN_TAG
    }
}

fn yes() -> bool {
    true
}

fn quarter_gigabyte() -> u64 {
    256 << 20
}

fn ethernet_mtu() -> u32 {
    1500
}

fn nothing() -> Value {
    json!({})
}
