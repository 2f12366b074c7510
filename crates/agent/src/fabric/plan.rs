//! The plan of a lab: its large parts, the network namespaces of its agents, their CPUs, its names.

use std::collections::BTreeMap;

use delaylab_proto::{Context, Failure};
use serde_json::value::RawValue;

use super::cgroups::CpuPolicy;
use crate::protocol::agent_network::AgentNetwork;
use crate::protocol::lab::{Agent, Build, Named, Operation, Plan};

/// The large parts of a request that one process alone needs.
pub(crate) struct Bulk {
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
    pub(crate) fn take_bulk(&mut self) -> Bulk {
        Bulk {
            record: self.record.take(),
            operations: std::mem::take(&mut self.plan.operations),
            names: std::mem::take(&mut self.plan.names),
        }
    }
}

impl Agent {
    /// Return how its CPU time is weighed and limited.
    pub(crate) fn cpu_policy(&self) -> CpuPolicy {
        CpuPolicy { weight: self.cpu_weight, quota_us: self.cpu_quota_us }
    }

    /// Return the CPUs that all of its processes are bound to. An agent that carries links binds only the
    /// forwarding thread: a real-time thread leaves its CPU to no other process, not even to the one that
    /// answers for it.
    pub(crate) fn bound_to(&self) -> Option<&[usize]> {
        self.cpus.as_deref().filter(|_| self.links.is_none())
    }
}

/// The network namespace of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NetNs {
    /// The namespace that delaylab was started in.
    Machine,
    /// The namespace made for the agent with this index.
    Of(usize),
}

impl Plan {
    /// Return each agent's network namespace; agents that join another's share its namespace.
    pub(crate) fn namespaces(&self, rootless: bool) -> Result<Vec<NetNs>, Failure> {
        let mut namespaces: BTreeMap<&str, NetNs> = BTreeMap::new();
        let mut found = Vec::with_capacity(self.agents.len());
        for (index, agent) in self.agents.iter().enumerate() {
            let what = || format!("start agent {}", agent.name);
            check_name(&agent.name).with_context(what)?;
            let netns = match &agent.network {
                AgentNetwork::New | AgentNetwork::Guest => NetNs::Of(index),
                // A way outside only opens sockets there, as any program of the user may.
                AgentNetwork::Machine if rootless && agent.nat.is_none() => {
                    return Err(Failure::new(
                        what(),
                        "without root the machine's own network \
                        cannot be used",
                    )
                    .fix("run as root, or use nodes of kind netns"));
                }
                AgentNetwork::Machine => NetNs::Machine,
                AgentNetwork::Of(other) => *namespaces.get(other.as_str()).ok_or_else(|| {
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
pub(super) fn check_name(name: &str) -> Result<(), String> {
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
    fn names_are_one_path_component() {
        assert!(check_name("node.probe_1-a").is_ok());
        for wrong in ["", "..", "a/b", ".hidden", "-x", "a b", "ä"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
