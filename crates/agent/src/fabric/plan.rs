//! The request to build a lab, and its plan (docs/protocol.md, "The plan").

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use delaylab_proto::{Context, Failure};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::cgroups::CpuPolicy;
use super::names::Named;
use crate::capabilities::Kept;
use crate::link::Links;
pub use crate::network::mac::Mac;

/// The request `{"op": "build", …}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
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
    record: Option<Box<RawValue>>,
    pub plan: Plan,
}

/// The large parts of a request that one process alone needs.
pub struct Bulk {
    /// For the keeper.
    pub record: Option<Box<RawValue>>,
    /// For the builder of the network.
    pub operations: Vec<Operation>,
    /// For PID 1, until it has written them into files.
    pub names: Vec<Named>,
}

impl Build {
    /// Take the large parts out of the request, so that processes that do not need them can free them. Every
    /// agent starts as a copy of PID 1, and copying its page table takes time in proportion to its memory.
    /// PID 1 of 2000 nodes and 4000 links holds 3.6 MB without these parts; with them it held 11.7 MB.
    pub fn take_bulk(&mut self) -> Bulk {
        Bulk {
            record: self.record.take(),
            operations: std::mem::take(&mut self.plan.operations),
            names: std::mem::take(&mut self.plan.names),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(default, rename = "lab")]
    _lab: Option<String>,
    pub agents: Vec<Agent>,
    #[serde(default)]
    operations: Vec<Operation>,
    /// The names of the nodes, which their programs find in `/etc/hosts`.
    #[serde(default)]
    names: Vec<Named>,
}

/// A process of the lab that holds namespaces and serves `NAME.sock`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    pub name: String,
    /// `new`, `guest` (the guest's own), `machine`, or the name of an earlier agent.
    pub network: String,
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
    /// The capabilities available to its programs; if left out, all that delaylab itself has.
    #[serde(default)]
    pub capabilities: Option<Vec<Kept>>,
    #[serde(default)]
    pub guest: Option<Guest>,
    /// The links that the agent carries as a host's link engine.
    #[serde(default)]
    pub links: Option<Links>,
}

impl Agent {
    /// Return how its CPU time is weighed and limited.
    pub fn cpu_policy(&self) -> CpuPolicy {
        CpuPolicy { weight: self.cpu_weight, quota_us: self.cpu_quota_us }
    }

    /// Return the CPUs that all of its processes are bound to. An agent that carries links binds only the
    /// forwarding thread: a real-time thread leaves its CPU to no other process, not even to the one that
    /// answers for it.
    pub fn bound_to(&self) -> Option<&[usize]> {
        self.cpus.as_deref().filter(|_| self.links.is_none())
    }
}

/// A container or a virtual machine: a command of the lab in which a second agent answers for the first one,
/// its monitor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guest {
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
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// One stream for all sessions, which the command gets as a descriptor.
    Stream,
    /// A folder that the guest sees, in which the monitor listens and the guest's agent connects.
    Folder,
    /// No agent inside: the command serves other guests.
    Nothing,
}

/// A namespace that an agent can have of its own, besides the network namespace.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Isolate {
    Pid,
    Mount,
    Uts,
    Ipc,
}

/// An operation that creates or sets something in the network.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Operation {
    Veth {
        ends: [End; 2],
    },
    #[serde(rename = "tap")]
    TapDevice(End),
    Bridge(Bridge),
    Address(Address),
    Queue(Queue),
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
    Route(Route),
}

/// The number of times that an interface's stack asks for a neighbour before it gives up, once a second.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbours {
    pub r#in: String,
    pub on: String,
    pub tries: u32,
}

/// One end of a veth, or a TAP device (a virtual machine's cable).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    pub r#in: String,
    pub name: String,
    #[serde(default)]
    pub mac: Option<Mac>,
    #[serde(default)]
    pub mtu: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    pub r#in: String,
    pub name: String,
    #[serde(default)]
    pub mac: Option<Mac>,
    #[serde(default)]
    pub mtu: Option<u32>,
    #[serde(default)]
    pub ports: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    pub r#in: String,
    pub on: String,
    pub address: Prefix,
}

/// A token bucket filter (tc-tbf(8)).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    pub r#in: String,
    pub on: String,
    /// The rate in bits per second.
    pub rate_bps: u64,
    pub burst_bytes: u32,
    pub limit_bytes: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub r#in: String,
    pub to: Prefix,
    #[serde(default)]
    pub via: Option<IpAddr>,
    #[serde(default)]
    pub on: Option<String>,
}

/// An address and its prefix length: `10.0.0.1/24`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct Prefix {
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

/// The network namespace of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetNs {
    /// The namespace that delaylab was started in.
    Machine,
    /// The namespace made for the agent with this index.
    Of(usize),
}

impl Plan {
    /// Return each agent's network namespace; agents that join another's share its namespace.
    pub fn namespaces(&self, rootless: bool) -> Result<Vec<NetNs>, Failure> {
        let mut namespaces: BTreeMap<&str, NetNs> = BTreeMap::new();
        let mut found = Vec::with_capacity(self.agents.len());
        for (index, agent) in self.agents.iter().enumerate() {
            let what = || format!("start agent {}", agent.name);
            check_name(&agent.name).with_context(what)?;
            let netns = match agent.network.as_str() {
                "new" | "guest" => NetNs::Of(index),
                "machine" if rootless => {
                    return Err(Failure::new(
                        what(),
                        "without root the machine's own network \
                        cannot be used",
                    )
                    .fix("run as root, or use nodes of kind netns"));
                }
                "machine" => NetNs::Machine,
                other => *namespaces.get(other).ok_or_else(|| {
                    Failure::new(what(), format!("no agent before it is named `{other}`"))
                })?,
            };
            if namespaces.insert(&agent.name, netns).is_some() {
                return Err(Failure::new(what(), "two agents have this name"));
            }
            found.push(netns);
        }
        Ok(found)
    }
}

/// Check a name. It becomes a file or folder, so it must be one plain path component, and a word of command
/// lines, where it must not be an option.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.is_empty() && !name.starts_with(['.', '-']) && name.chars().all(plain) {
        return Ok(());
    }
    Err(format!("`{name}` is not a name of letters, digits, `.`, `_` and `-`"))
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

    #[test]
    fn names_are_one_path_component() {
        assert!(check_name("node.probe_1-a").is_ok());
        for wrong in ["", "..", "a/b", ".hidden", "-x", "a b", "ä"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
