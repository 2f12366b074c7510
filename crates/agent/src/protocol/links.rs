//! The links of a host in a plan, and requests to the agent that carries them.

use delaylab_link::{Conditions, Configured, LinkState, Settings};
use delaylab_wire::{ETHERNET_HEADER, VLAN_TAG};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::generating::Late;
use super::mac::Mac;
use super::passages::LinkPassages;

/// All links of one engine.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EngineLinks {
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EngineKind {
    /// delaylab's own: a process that receives each frame and sends it when it is due.
    #[default]
    Own,
    /// The kernel's bridges and queues.
    Kernel,
}

/// A link: a cable between two ports, or a network that its ports share.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    pub link: String,
    #[serde(default = "ethernet_mtu")]
    pub mtu: u32,
    pub members: Vec<Member>,
}

/// One end of a link on this host.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Member {
    /// The interface in this host's network namespace.
    pub port: String,
    /// The node behind the port; `None` behind an uplink.
    #[serde(default)]
    pub node: Option<String>,
    /// The node's own interface, unless it is in a virtual machine.
    #[serde(default)]
    pub card: Option<Card>,
    /// The way to take the carrier of a card in a virtual machine, which does not see that the port is down.
    #[serde(default)]
    pub carrier: Option<RemoteCard>,
    /// The MAC addresses known to be behind the port.
    #[serde(default)]
    pub macs: Vec<Mac>,
    /// The conditions of frames that arrive at the port.
    #[serde(default)]
    #[schemars(with = "Conditions")]
    pub conditions: Settings,
    /// The one-way delay in ns that the network between machines adds to these frames: they leave the engine so
    /// much earlier.
    #[serde(default)]
    pub underlay_ns: u32,
    /// The conditions that frames for the node then pass; absent if there are none and never will be.
    #[serde(default)]
    #[schemars(with = "Option<Conditions>")]
    pub received: Option<Settings>,
}

/// A node's own interface, in the network namespace of an agent.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Card {
    pub r#in: String,
    pub on: String,
}

/// A card in a virtual machine, whose carrier its monitor or the agent inside takes (request `carrier`).
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteCard {
    /// The name of the socket in the lab's folder at which that is asked.
    pub at: String,
    pub on: String,
}

/// The changes at one moment of the timeline.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Moment {
    pub at_ns: u64,
    pub changes: Vec<Change>,
}

/// A change of the conditions of one node's frames on a link: those that it sends, or those that it receives.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    pub link: String,
    pub node: String,
    /// True to change what the node receives.
    #[serde(default)]
    pub receives: bool,
    /// The conditions to change; null removes one, and all others stay.
    #[schemars(with = "Conditions")]
    pub set: Settings,
}

impl EngineLinks {
    /// Return all members with their links, in the order of their directions.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&Link, &Member)> {
        self.links.iter().flat_map(|link| link.members.iter().map(move |member| (link, member)))
    }

    /// Return the members that have conditions for what they receive, with their links and these conditions.
    pub(crate) fn receivers(&self) -> impl Iterator<Item = (&Link, &Member, &Settings)> {
        self.members().filter_map(|(link, member)| Some((link, member, member.received.as_ref()?)))
    }

    /// Return the names of all ports, in the order of their directions.
    pub(crate) fn ports(&self) -> impl Iterator<Item = &str> {
        self.members().map(|(_, member)| member.port.as_str())
    }

    /// Return the length of the longest frame that any link carries, from its Ethernet header on.
    pub(crate) fn longest_frame(&self) -> usize {
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

/// A request about links, as a session passes it on to the process that answers for the engine.
#[derive(Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub(crate) enum LinkRequest {
    Links(Links),
    LinkSet(LinkSet),
    LinkTimeline(LinkTimeline),
    LinkPace(LinkPace),
    LinkPassages(LinkPassages),
    LinkRestart(LinkRestart),
}

/// Report the conditions and the counters of all directions.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Links {
    /// True to reset the counters after the report.
    #[serde(default)]
    pub reset: bool,
}

/// Change conditions: all changes, or none if one of them is impossible.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkSet {
    pub changes: Vec<Change>,
}

/// The directions after a change.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkSetDone {
    pub directions: Vec<DirectionReport>,
}

/// Return to the conditions of the plan, and restart the timeline.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTimeline {
    /// The time from which the timeline counts, in ns since the Unix epoch; now if it is left out.
    #[serde(default)]
    pub(crate) begins_ns: Option<i64>,
    /// True to make no change of the timeline until it is restarted.
    #[serde(default)]
    pub(crate) hold: bool,
}

/// Set whether the engine may be late, to leave the CPUs to others.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkPace {
    /// True to send frames up to a millisecond late; false to send them on time, as at the start.
    pub eased: bool,
}

/// Restart the engine if it has ended, with the changes of `link-set`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkRestart {}

/// The report of an engine of either kind, or in place of one that has ended.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct EngineReport {
    pub state: State,
    /// The reason why the engine is down.
    pub why: Option<String>,
    /// The engine's pid, as the lab sees it.
    pub pid: Option<u32>,
    pub realtime: bool,
    /// The features that could not be had.
    pub notes: Vec<String>,
    /// The times between which frames were counted, in ns since the Unix epoch.
    pub since_ns: i64,
    pub now_ns: i64,
    pub memory: Memory,
    pub pauses: Pauses,
    #[serde(rename = "floor")]
    pub cpu_noise: CpuNoiseSummary,
    /// Frames that found the ring full.
    pub dropped_ring: u64,
    /// Frames of an interface that is no port.
    pub unknown_port: u64,
    /// The lateness of all directions' frames together; absent while the engine is down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<Late>,
    pub directions: Vec<DirectionReport>,
}

/// The state of an engine.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Running,
    #[default]
    Down,
}

/// The memory of frames under way, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Memory {
    pub used: usize,
    pub bound: usize,
    /// The highest level since counting began.
    pub peak: usize,
    /// True if half of what directions share was in use at some time.
    pub warn: bool,
}

/// The times of more than 2 ms in which the engine did not run though something was due.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
pub(crate) struct Pauses {
    pub count: u64,
    pub longest_ns: i64,
}

/// The delays that the engine's CPU inflicts on a thread that only reads the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct CpuNoiseSummary {
    /// The time for which the thread only read the clock.
    pub watched_ns: i64,
    /// The part of it for which something else had the CPU: an interrupt, another thread, or, invisible from
    /// here, the host of a virtual machine.
    pub held_up_ns: i64,
    /// The p99 lateness with which a moment of that time was seen.
    pub p99_ns: i64,
}

/// The report of one direction, the frames that come in by one port, or those that one node receives after that:
/// its conditions and its counters.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DirectionReport {
    pub link: String,
    /// The node that sends, or receives; null behind an uplink.
    pub node: Option<String>,
    /// True if the direction is what the node receives.
    pub receives: bool,
    pub port: String,
    #[serde(rename = "asked")]
    #[schemars(with = "Conditions")]
    pub configured: Configured,
    /// The conditions when counting began; null if they have not changed since.
    #[serde(rename = "asked_first")]
    #[schemars(with = "Option<Conditions>")]
    pub first: Option<Configured>,
    /// The number of changes by request since the engine's start.
    pub requests: u64,
    /// The times in which the sender's end was not up, since counting began.
    pub downtimes: Vec<Downtime>,
    #[serde(rename = "in")]
    pub entered: Tally,
    #[serde(rename = "out")]
    pub left: Tally,
    pub dropped: Dropped,
    /// The frames that conditions changed; null where the engine does not count these.
    pub duplicated: Option<u64>,
    pub corrupted: Option<u64>,
    pub reordered: Option<u64>,
    /// Frames whose delay was shorter than that of the network between machines; null on other links.
    pub short: Option<u64>,
    /// Frames whose source MAC address is behind another port; null where the engine does not count these.
    pub moved: Option<u64>,
    pub waiting: Waiting,
    /// Frames that wait for the rate or are under way.
    pub held: u32,
    pub late: Late,
    pub first_in_ns: Option<i64>,
    pub last_in_ns: Option<i64>,
    pub first_out_ns: Option<i64>,
    pub last_out_ns: Option<i64>,
    /// Frames that this port took to send and whose queue dropped them.
    pub port_dropped: u64,
}

/// A count of frames and bytes, from the Ethernet header on.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
pub(crate) struct Tally {
    pub frames: u64,
    pub bytes: u64,
    /// The first and the last time, in ns since the Unix epoch.
    #[serde(skip)]
    pub first_ns: Option<i64>,
    #[serde(skip)]
    pub last_ns: Option<i64>,
}

/// Dropped frames by reason.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
pub(crate) struct Dropped {
    /// Frames beyond the port's share of the ring; they never entered.
    pub ring: u64,
    /// The configured loss.
    pub loss: u64,
    /// A full queue.
    pub queue: u64,
    /// A drop by the queue's discipline.
    pub early: u64,
    /// No memory left for frames under way.
    pub memory: u64,
    /// Frames that no cable carries: longer than the MTU allows, cut, or without checksums.
    pub oversize: u64,
    /// Frames that the egress interface did not take.
    pub interface: u64,
    /// Frames of a link that was not up, or for an interface that was down.
    pub down: u64,
}

/// A time in which the sender's end of a direction was not up, in ns since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Downtime {
    /// The state in that time.
    pub state: LinkState,
    pub since_ns: i64,
    /// The end; null if it goes on.
    pub until_ns: Option<i64>,
}

/// The frames that wait for the rate, here or at the sender.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Waiting {
    pub frames: usize,
    pub bytes: u64,
}
