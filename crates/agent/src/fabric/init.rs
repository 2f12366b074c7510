//! PID 1 of a lab: it starts the builder of the network and the agents, and reaps. Its death ends them all.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::time::Instant;

use delaylab_os::files::{descriptor, mount};
use delaylab_os::process::credential_channel::Sender;
use delaylab_os::process::{self, Ended, PidFd, Side, memory, namespace, title};
use delaylab_proto::{Context, Failure};
use tracing::{info, warn};

use super::member::{Member, StartupResources};
use super::network::Network;
use super::plan::NetNs;
use super::report::{self, Report, Roster, tell};
use super::{agent, names};
use crate::link::Agents;
use crate::protocol::lab::{Build, Named, Operation};
use crate::protocol::links::EngineLinks;

/// The number of agents that set their sysctls through one mount of `/proc`.
const AGENTS_PER_PROC: usize = 32;

/// The data that the keeper prepares for PID 1.
pub(super) struct Lab<'a> {
    pub build: &'a Build,
    /// The operations that build the network. The keeper has checked them.
    pub operations: Vec<Operation>,
    /// The names of the nodes.
    pub names: Vec<Named>,
    pub namespaces: &'a [NetNs],
    /// The members, in the order of the plan; their networks are filled in as agents start.
    pub members: Vec<Member<'a>>,
    /// The user and group outside of the lab that become root in a rootless lab.
    pub user: (u32, u32),
}

/// The processes that PID 1 started, by pid.
struct Children {
    builder: i32,
    /// The agents' pids, in the order of the plan.
    agents: Vec<i32>,
}

/// Run PID 1 until the lab ends.
pub(super) fn live(lab: Lab, keeper: Sender) -> ! {
    let build = lab.build;
    let children = match start(lab, &keeper) {
        Ok(children) => children,
        Err(failure) => {
            // If even this fails, the keeper is gone and takes this process with it.
            let _ = tell(&keeper, &Report::Failed(failure));
            std::process::exit(1);
        }
    };
    reap(build, &children, &keeper)
}

fn start(lab: Lab, keeper: &Sender) -> Result<Children, Failure> {
    if lab.build.rootless {
        let (uid, gid) = lab.user;
        namespace::map_to_root(uid, gid).context("map the user to root")?;
    }
    // Set this after the change of user, which would clear it.
    process::die_with_parent().context("bind the lab to its keeper")?;
    if keeper.is_abandoned().context("bind the lab to its keeper")? {
        std::process::exit(1);
    }
    let name = format!("delaylab-agent lab {}", lab.build.lab);
    title::set(&name, "delaylab-lab").context("name the process")?;
    mount::make_private().context("separate the mounts")?;
    // The mount is refused if the system's /proc is partly covered, as in some containers. /proc then shows
    // outer pids.
    let _ = mount::proc();
    if let Some(member) = lab.members.first() {
        names::publish(member.place, &lab.build.dir, &lab.names)?;
    }
    // Create the folders before any monitor starts: a node that serves other guests may need theirs at once.
    lab.members.iter().try_for_each(Member::make_folder)?;
    let (roster, writer) = report::pair(lab.members.len()).context("make a pipe")?;
    let (built, building) = descriptor::pipe().context("make a pipe")?;
    let builder = match process::fork().context("start the builder")? {
        Side::Parent(pid) => pid,
        Side::Child => {
            drop(writer);
            build_network(&lab, roster, keeper, building);
        }
    };
    drop(building);
    // Free what only the builder needs: every agent starts as a copy of this process.
    drop((lab.operations, lab.names, roster));
    let began = Instant::now();
    memory::trim();
    let mut resources = StartupResources { roster: Some(writer), proc: None, built: Some(built) };
    let mut pids = Vec::with_capacity(lab.members.len());
    for member in lab.members {
        if member.index % AGENTS_PER_PROC == 0 {
            // Refused where a new /proc is refused. The existing one works too, but more slowly.
            resources.proc = mount::detached_proc().ok();
        }
        pids.push(start_member(member, lab.build, lab.namespaces, &pids, keeper, &mut resources)?);
    }
    info!(stage = "agents started", agents = pids.len(), elapsed = ?began.elapsed(), "stage done");
    Ok(Children { builder, agents: pids })
}

/// Run the builder, a process of its own so that the network is built while agents still start.
///
/// `_building` closes when the builder ends, which agents that wait for the network notice.
fn build_network(lab: &Lab, mut roster: Roster, keeper: &Sender, _building: OwnedFd) -> ! {
    let began = Instant::now();
    let network = Network::new(lab.build, &lab.operations, lab.namespaces);
    let report = match network.and_then(|network| network.build(&mut roster)) {
        Ok(true) => {
            let cpu = process::own_usage().unwrap_or_default();
            info!(stage = "network", elapsed = ?began.elapsed(), ?cpu.user, ?cpu.system, "stage done");
            Report::Built
        }
        Ok(false) => std::process::exit(0),
        Err(failure) => Report::Failed(failure),
    };
    let told = tell(keeper, &report);
    std::process::exit(i32::from(told.is_err()))
}

fn start_member(
    mut member: Member,
    build: &Build,
    namespaces: &[NetNs],
    pids: &[i32],
    keeper: &Sender,
    resources: &mut StartupResources,
) -> Result<i32, Failure> {
    let name = &member.agent.name;
    let what = || format!("start agent {name}");
    if let NetNs::Of(owner) = namespaces[member.index]
        && owner != member.index
    {
        member.network = Some(PidFd::open(pids[owner]).with_context(what)?);
    }
    if let Some(links) = &member.agent.links {
        member.others = agents_of(links, build, pids);
    }
    if let Some(nat) = &member.agent.nat {
        let started = build.plan.agents.iter().zip(pids);
        let node = started.filter(|(agent, _)| agent.name == nat.of);
        member.others = node.map(|(agent, &pid)| (agent.name.clone(), pid)).collect();
    }
    let index = member.index;
    match process::clone(Member::namespaces(member.agent)).with_context(what)? {
        Side::Parent(pid) => {
            info!(agent = name, pid, "agent starts");
            if let Some(roster) = &resources.roster {
                // The builder ends early only after a failure that it has reported.
                let _ = roster.started(index, pid);
            }
            Ok(pid)
        }
        Side::Child => {
            let lived = agent::live(&member, keeper, std::mem::take(resources));
            std::process::exit(i32::from(lived.is_err()));
        }
    }
}

/// Return the pids of those agents, started so far, that hold the interfaces to which links lead.
fn agents_of(links: &EngineLinks, build: &Build, pids: &[i32]) -> Agents {
    let wanted: BTreeSet<&str> = links
        .members()
        .filter_map(|(_, member)| Some(member.card.as_ref()?.r#in.as_str()))
        .collect();
    let started = build.plan.agents.iter().zip(pids);
    let found = started.filter(|(agent, _)| wanted.contains(agent.name.as_str()));
    found.map(|(agent, &pid)| (agent.name.clone(), pid)).collect()
}

/// Reap children for ever. Report the death of an agent or of a failed builder; nobody reads reports once the
/// lab is up.
fn reap(build: &Build, children: &Children, keeper: &Sender) -> ! {
    while let Some((pid, ended)) = process::wait_any() {
        let agent = children.agents.iter().position(|&agent| agent == pid);
        let what = match agent {
            Some(index) => format!("start agent {}", build.plan.agents[index].name),
            None if pid == children.builder && ended != Ended::Exit(0) => {
                "build the network".into()
            }
            None => continue,
        };
        let why = match ended {
            Ended::Exit(code) => format!("it ended with exit code {code}"),
            Ended::Killed(signal) => format!("it was killed by signal {signal}"),
        };
        let failure = Failure::new(what, why);
        warn!(pid, %failure, "process ended");
        let bytes = serde_json::to_vec(&Report::Failed(failure)).unwrap_or_default();
        let _ = keeper.try_send(&bytes);
    }
    std::process::exit(1)
}
