//! The request to build a lab, and its plan; the request to set up a machine.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::agent_network::AgentNetwork;
use super::links::EngineLinks;
use super::mac::Mac;
use super::outward::{Groups, LanPort, Tunnel};
use crate::capabilities::KeptCapability;

/// Build a lab, and keep it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    /// The operation; only `build` is known.
    pub op: String,
    /// The lab's name.
    pub lab: String,
    /// The run directory. Only the keeper creates, uses and removes it.
    pub dir: PathBuf,
    /// True to work in a user namespace.
    #[serde(default)]
    pub rootless: bool,
    /// The data that the client wants in `lab.json` while the lab is up. Only the keeper needs it.
    #[serde(default)]
    pub record: Option<Box<RawValue>>,
    pub plan: Plan,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    #[serde(default, rename = "lab")]
    _lab: Option<String>,
    pub agents: Vec<Agent>,
    #[serde(default)]
    pub operations: Vec<Operation>,
    /// The names of the nodes, which their programs find in `/etc/hosts`.
    #[serde(default)]
    pub names: Vec<Named>,
}

/// A process of the lab that holds namespaces and serves `NAME.sock`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agent {
    pub name: String,
    /// `new`, `guest` (the guest's own), `machine`, or the name of an earlier agent.
    #[schemars(with = "String")]
    pub network: AgentNetwork,
    #[serde(default)]
    pub isolate: Vec<Isolate>,
    #[serde(default)]
    pub hostname: Option<String>,
    #[serde(default)]
    pub cpus: Option<Vec<usize>>,
    #[serde(default)]
    pub cgroup: bool,
    /// The weight of its group among those of the lab where they compete for a CPU; 100 is usual.
    #[serde(default)]
    pub cpu_weight: Option<u64>,
    /// The CPU time that its group may use in each 100 ms, in µs; unlimited if left out.
    #[serde(default)]
    pub cpu_quota_us: Option<u64>,
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// The folders of which the agent has a copy of its own, in memory: what its programs write there is theirs alone.
    #[serde(default)]
    pub own_folders: Vec<PathBuf>,
    /// The capabilities available to its programs; if left out, all that delaylab itself has.
    #[serde(default)]
    pub capabilities: Option<Vec<KeptCapability>>,
    #[serde(default)]
    pub guest: Option<Guest>,
    /// The links that the agent carries as a host's link engine.
    #[serde(default)]
    pub links: Option<EngineLinks>,
    /// The interface of this machine that the agent's card stands for.
    #[serde(default)]
    pub interface: Option<RealInterface>,
    /// The node that reaches outside by this agent.
    #[serde(default)]
    pub nat: Option<Nat>,
}

/// A way outside for a node: an agent in the network of this machine makes the node's connections anew, as any program
/// of this machine would.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nat {
    /// The agent of the node, which is before this one.
    pub of: String,
    /// The interface that the node gets.
    pub card: String,
    /// True if packets of other nodes may take this way, too.
    pub forwards: bool,
}

/// An interface of this machine: what arrives at it comes in by a card of the lab, and what the card receives leaves
/// by it. It is not changed.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RealInterface {
    /// The interface in the network namespace of this machine.
    pub name: String,
    /// The agent's own interface.
    pub card: String,
    /// The length of the longest packet on the card's link, in bytes.
    pub mtu: u32,
}

/// A container or a virtual machine: a command of the lab in which a second agent answers for the first one,
/// its monitor.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guest {
    /// The command's words, which may hold `{folder}`, `{lab}`, `{pid}` (the monitor's), `{stream}` and `{qmp}`
    /// (descriptors' numbers), `{tsc_khz}` and `{cgroup}`. Empty if somebody else starts the guest.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub reach: Reach,
    pub deadline_ms: u64,
    /// The request `setup` for the agent inside.
    #[serde(default)]
    pub setup: Option<Box<RawValue>>,
    /// The CPU for each virtual CPU of a QEMU.
    #[serde(default)]
    pub pin: Vec<usize>,
}

/// The channel from a monitor to the agent inside its guest.
#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reach {
    /// One stream for all sessions, which the command gets as a descriptor.
    Stream,
    /// A folder that the guest sees, in which the monitor listens and the guest's agent connects.
    Folder,
    /// No agent inside: the command serves other guests.
    Nothing,
}

/// A namespace that an agent can have of its own, besides the network namespace.
#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Isolate {
    Pid,
    Mount,
    Uts,
    Ipc,
}

/// An operation that creates or sets something in the network.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Operation {
    Veth {
        ends: [End; 2],
    },
    #[serde(rename = "tap")]
    TapDevice(End),
    Bridge(Bridge),
    Tunnel(Tunnel),
    #[serde(rename = "lan")]
    LanPort(LanPort),
    Groups(Groups),
    Address(Address),
    Queue(Queue),
    Capacity(Capacity),
    Offloads {
        r#in: String,
        on: String,
        enabled: bool,
    },
    /// Process the interface's received packets on CPUs other than these (RPS).
    Steering {
        r#in: String,
        on: String,
        avoid: Vec<usize>,
    },
    Neighbours(Neighbours),
    Resolved(Resolved),
    Route(Route),
}

/// A neighbour whose MAC address is known from the start, and for good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resolved {
    pub r#in: String,
    pub on: String,
    pub address: IpAddr,
    pub mac: Mac,
}

/// The number of times that an interface's stack asks for a neighbour before it gives up, once a second.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Neighbours {
    pub r#in: String,
    pub on: String,
    pub tries: u32,
}

/// One end of a veth, or a TAP device (a virtual machine's cable).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    pub r#in: String,
    pub name: String,
    #[serde(default)]
    pub mac: Option<Mac>,
    #[serde(default)]
    pub mtu: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bridge {
    pub r#in: String,
    pub name: String,
    #[serde(default)]
    pub mac: Option<Mac>,
    #[serde(default)]
    pub mtu: Option<u32>,
    #[serde(default)]
    pub ports: Vec<String>,
    /// The MAC addresses of the lab's nodes behind each port, which stay there whatever frames come by other ports.
    #[serde(default)]
    pub macs: BTreeMap<String, Vec<Mac>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Address {
    pub r#in: String,
    pub on: String,
    pub address: Prefix,
}

/// A token bucket filter (tc-tbf(8)).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queue {
    pub r#in: String,
    pub on: String,
    /// The rate in bits per second.
    pub rate_bps: u64,
    pub burst_bytes: u32,
    pub limit_bytes: u32,
}

/// A rate that interfaces share: an interface (an ifb) through whose token bucket everything passes that leaves by them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Capacity {
    pub r#in: String,
    pub name: String,
    #[serde(default)]
    pub mac: Option<Mac>,
    #[serde(default)]
    pub mtu: Option<u32>,
    /// The interfaces that share it, each with a queue of no length of its own.
    pub of: Vec<String>,
    /// The rate in bits per second.
    pub rate_bps: u64,
    pub burst_bytes: u32,
    /// The bytes of all interfaces together that may wait.
    pub limit_bytes: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Route {
    pub r#in: String,
    /// The networks, each with a route of its own.
    pub to: Vec<Prefix>,
    /// The next hops; of several, the kernel takes one for each flow.
    #[serde(default)]
    pub via: Vec<IpAddr>,
    #[serde(default)]
    pub on: Option<String>,
    /// The order among routes to one network: the least is taken.
    #[serde(default)]
    pub metric: Option<u32>,
    /// Left out, packets are sent on.
    #[serde(default)]
    pub kind: Option<RouteKind>,
}

/// The answer to packets that are not sent on.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RouteKind {
    /// None: packets are dropped.
    Blackhole,
    /// An ICMP error: the host is unreachable.
    Unreachable,
    /// An ICMP error: communication is prohibited.
    Prohibit,
}

/// An address and its prefix length: `10.0.0.1/24`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(crate) struct Prefix {
    pub address: IpAddr,
    pub length: u8,
}

impl TryFrom<String> for Prefix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parse = || {
            let (address, length) = text.split_once('/')?;
            let address: IpAddr = address.parse().ok()?;
            let length: u8 = length.parse().ok()?;
            let longest = if address.is_ipv4() { 32 } else { 128 };
            (length <= longest).then_some(Self { address, length })
        };
        parse().ok_or_else(|| format!("`{text}` is not ADDRESS/LENGTH"))
    }
}

/// An address in the lab and its names, the node's own first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    pub address: IpAddr,
    pub names: Vec<String>,
}

/// Set up the machine that the agent is the init of, as the plan describes the node.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setup {
    pub hostname: String,
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// The names of the lab's nodes, as lines of `/etc/hosts`.
    #[serde(default)]
    pub hosts: String,
    pub interfaces: Vec<NetworkCard>,
    /// Operations on addresses, queues, offloads and routes.
    pub operations: Vec<Operation>,
}

/// A network card, found by its MAC address, and its new name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkCard {
    pub name: String,
    pub mac: Mac,
    #[serde(default)]
    pub mtu: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_have_a_length_that_fits() {
        let prefix = Prefix::try_from("fd00::1/64".to_owned()).unwrap();
        assert_eq!((prefix.address, prefix.length), ("fd00::1".parse().unwrap(), 64));
        for wrong in ["10.0.0.1", "10.0.0.1/33", "10.0.0/8", "/8", "fd00::1/129"] {
            assert!(Prefix::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
