//! What a lab is made of, as the request says it (docs/protocol.md, "The plan").

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use delaylab_proto::Failure;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::link::Links;
pub use crate::mac::Mac;

/// `{"op": "build", …}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// What is asked for; only `build` is known.
    pub op: String,
    /// The lab's name.
    pub lab: String,
    /// The run directory: made, used and removed by the keeper alone.
    pub dir: PathBuf,
    /// Go on after standard input ends.
    #[serde(default)]
    pub linger: bool,
    /// Work in a user namespace.
    #[serde(default)]
    pub rootless: bool,
    /// What the client wants to find in `lab.json` as long as the lab is up. Kept as it came: it is
    /// copied into every process of the lab.
    #[serde(default)]
    pub record: Option<Box<RawValue>>,
    pub plan: Plan,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(default, rename = "lab")]
    _lab: Option<String>,
    pub agents: Vec<Agent>,
    #[serde(default)]
    pub operations: Vec<Operation>,
}

/// A process of the lab that holds namespaces and serves `NAME.sock`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    pub name: String,
    /// `new`, `guest` (its guest brings it), `machine`, or the name of an agent before this one.
    pub network: String,
    #[serde(default)]
    pub isolate: Vec<Isolate>,
    #[serde(default)]
    pub hostname: Option<String>,
    #[serde(default)]
    pub cpus: Option<Vec<usize>>,
    #[serde(default)]
    pub cgroup: bool,
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// What its programs may have of root's capabilities; left out: all that delaylab itself has.
    #[serde(default)]
    pub capabilities: Option<Vec<String>>,
    #[serde(default)]
    pub guest: Option<Guest>,
    /// The links that it carries: the agent is a host's link engine.
    #[serde(default)]
    pub links: Option<Links>,
}

impl Agent {
    /// The CPUs that all of its processes are bound to. What carries links binds only the thread that
    /// forwards: in real time that leaves its CPU to nobody, not even to who answers for it.
    pub fn bound_to(&self) -> Option<&[usize]> {
        self.cpus.as_deref().filter(|_| self.links.is_none())
    }
}

/// A container or a virtual machine: a command of the lab in which a second agent answers for the
/// first, its monitor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// Words may hold `{folder}`, `{pid}` (of the monitor), `{stream}` (a descriptor's number) and
    /// `{cgroup}`. Empty: somebody else starts the guest.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub reach: Reach,
    pub deadline_ms: u64,
    /// The request `setup` for the agent inside.
    #[serde(default)]
    pub setup: Option<Box<RawValue>>,
    /// A CPU for each virtual CPU of a QEMU.
    #[serde(default)]
    pub pin: Vec<usize>,
}

/// How a monitor reaches the agent inside its guest.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// By one stream for all sessions, which the command gets as a descriptor.
    Stream,
    /// By a folder that the guest sees, in which its agent listens.
    Folder,
    /// There is no agent inside: the command serves other guests.
    Nothing,
}

/// A namespace that an agent can have of its own, besides that of the network.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Isolate {
    Pid,
    Mount,
    Uts,
    Ipc,
}

/// One thing to make or set in the network.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Operation {
    Veth {
        ends: [End; 2],
    },
    Tap(End),
    Bridge(Bridge),
    Address(Address),
    Queue(Queue),
    Offloads {
        r#in: String,
        on: String,
        enabled: bool,
    },
    /// What the interface receives is worked on by other CPUs than these (RPS).
    Steering {
        r#in: String,
        on: String,
        avoid: Vec<usize>,
    },
    Route(Route),
}

/// One end of a veth, or a TAP (a virtual machine's cable).
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
    /// Bits per second.
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

/// An address and the length of its network's prefix: `10.0.0.1/24`.
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

/// Where an agent's network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// The namespace that delaylab was started in.
    Machine,
    /// The namespace made for the agent with this index.
    Of(usize),
}

impl Plan {
    /// Each agent's network; agents that join another's share its space.
    pub fn spaces(&self, rootless: bool) -> Result<Vec<Space>, Failure> {
        let mut spaces: BTreeMap<&str, Space> = BTreeMap::new();
        let mut found = Vec::with_capacity(self.agents.len());
        for (index, agent) in self.agents.iter().enumerate() {
            let what = || format!("start agent {}", agent.name);
            check_name(&agent.name).map_err(|why| Failure::new(what(), why))?;
            let space = match agent.network.as_str() {
                "new" | "guest" => Space::Of(index),
                "machine" if rootless => {
                    return Err(Failure::new(
                        what(),
                        "without root the machine's own network \
                        cannot be used",
                    )
                    .fix("run as root, or use nodes of kind netns"));
                }
                "machine" => Space::Machine,
                other => *spaces.get(other).ok_or_else(|| {
                    Failure::new(what(), format!("no agent before it is named `{other}`"))
                })?,
            };
            if spaces.insert(&agent.name, space).is_some() {
                return Err(Failure::new(what(), "two agents have this name"));
            }
            found.push(space);
        }
        Ok(found)
    }
}

/// Names become files and folders: one path component, no surprises.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.is_empty() && !name.starts_with('.') && name.chars().all(plain) {
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
        for wrong in ["", "..", "a/b", ".hidden", "a b", "ä"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
