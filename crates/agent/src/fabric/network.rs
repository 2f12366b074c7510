//! The network of a lab. The keeper resolves it before anything is created, to find errors. The builder
//! resolves it again, and builds it by one batch for all veths and one for each namespace.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Mutex;
use std::thread;

use delaylab_os::process::{PidFd, namespace};
use delaylab_proto::{Context, Failure};

use super::indices;
use super::local::{self, Local};
use super::message::{self, VethEnd};
use super::outward::Outward;
use super::plan::NetNs;
use super::report::Roster;
use crate::link;
use crate::network::batch::{Batch, Verb};
use crate::protocol::lab::{Build, End, Operation};
use crate::protocol::links::EngineKind;

/// The longest name of an interface: IFNAMSIZ without the final zero.
const NAME_LENGTH: usize = 15;

/// The most threads that build namespaces: the kernel's locks leave little to more of them.
const MOST_THREADS: usize = 4;

/// The number of namespaces that are worth a thread.
const WORTH_A_THREAD: usize = 16;

/// A resolved network of a lab.
pub(super) struct Network<'a> {
    alias: String,
    rootless: bool,
    veths: Vec<(&'a [End; 2], [NetNs; 2])>,
    outward: Vec<(Outward<'a>, NetNs)>,
    locals: BTreeMap<NetNs, Local<'a>>,
    namespaces: HashMap<&'a str, NetNs>,
    /// The last interface index used; indices are unique in the whole lab. If both ends of a veth had the
    /// same index, the kernel would take it for an interface without a peer, and tell the bridge of its
    /// carrier up to a second late (net/core/link_watch.c, `linkwatch_urgent_event`). The indices are not in
    /// use in the machine's namespace either: before Linux 6.14 an index that is in use in the requester's
    /// namespace cannot be given to a new interface in another one (net/core/rtnetlink.c, `rtnl_newlink`).
    last_index: u32,
}

impl<'a> Network<'a> {
    /// Resolve the plan's operations, and find every error that can be found without asking the kernel.
    pub(super) fn new(
        build: &'a Build,
        operations: &'a [Operation],
        namespaces: &[NetNs],
    ) -> Result<Self, Failure> {
        let agents = &build.plan.agents;
        let names = agents.iter().map(|agent| agent.name.as_str());
        let first_free = indices::first_free()?;
        let mut network = Self {
            alias: format!("delaylab:{}", build.lab),
            rootless: build.rootless,
            veths: Vec::new(),
            outward: Vec::new(),
            locals: BTreeMap::new(),
            namespaces: names.clone().zip(namespaces.iter().copied()).collect(),
            last_index: first_free,
        };
        for (name, &netns) in names.zip(namespaces) {
            network
                .locals
                .entry(netns)
                .or_insert_with(|| Local { agent: name, ..Local::default() });
        }
        for operation in operations {
            network.add(operation)?;
        }
        for agent in agents {
            let Some(links) = &agent.links else { continue };
            if agent.guest.is_some() {
                let what = format!("start agent {}", agent.name);
                return Err(Failure::new(what, "one with a guest carries no links"));
            }
            link::check(links)?;
            let netns = network.netns(&agent.name)?;
            if netns == NetNs::Machine {
                // The kernel's engine would make a bridge there, the own one send by its loopback.
                return Err(Failure::new(
                    format!("start agent {}", agent.name),
                    "it would carry links in the machine's own network",
                ));
            }
            if links.engine == EngineKind::Kernel {
                link::kernel::check(links)?;
                network.local(netns).bridged = true;
            }
            for card in links.members().filter_map(|(_, member)| member.card.as_ref()) {
                network.made(&card.r#in, &card.on)?;
            }
            for port in links.ports() {
                let netns = network.made(&agent.name, port)?;
                network.local(netns).ports.push(port);
            }
        }
        indices::close_gaps(&mut network.locals, first_free);
        Ok(network)
    }

    fn add(&mut self, operation: &'a Operation) -> Result<(), Failure> {
        match operation {
            Operation::Veth { ends } => {
                let namespaces = [
                    self.interface(&ends[0].r#in, &ends[0].name)?,
                    self.interface(&ends[1].r#in, &ends[1].name)?,
                ];
                if namespaces == [NetNs::Machine; 2] {
                    return Err(outlives(&ends[0].name));
                }
                self.veths.push((ends, namespaces));
            }
            Operation::TapDevice(end) => {
                let netns = self.in_lab(&end.r#in, &end.name)?;
                self.local(netns).tap_devices.push(end);
            }
            Operation::Bridge(bridge) => {
                let netns = self.in_lab(&bridge.r#in, &bridge.name)?;
                for port in bridge.ports.iter().chain(bridge.macs.keys()) {
                    self.made(&bridge.r#in, port)?;
                }
                self.local(netns).bridges.push(bridge);
            }
            Operation::Tunnel(tunnel) => self.add_outward(Outward::Tunnel(tunnel))?,
            Operation::LanPort(port) => self.add_outward(Outward::LanPort(port))?,
            Operation::Groups(groups) => self.add_outward(Outward::Groups(groups))?,
            Operation::Address(address) => self.set(operation, &address.r#in, Some(&address.on))?,
            Operation::Queue(queue) => self.set(operation, &queue.r#in, Some(&queue.on))?,
            Operation::Capacity(capacity) => {
                let netns = self.in_lab(&capacity.r#in, &capacity.name)?;
                for port in &capacity.of {
                    self.made(&capacity.r#in, port)?;
                }
                self.local(netns).capacities.push(capacity);
            }
            Operation::Offloads { r#in, on, .. } | Operation::Steering { r#in, on, .. } => {
                self.set(operation, r#in, Some(on))?
            }
            Operation::Neighbours(neighbours) => {
                self.set(operation, &neighbours.r#in, Some(&neighbours.on))?
            }
            Operation::Resolved(known) => self.set(operation, &known.r#in, Some(&known.on))?,
            Operation::Route(route) => self.set(operation, &route.r#in, route.on.as_deref())?,
        }
        Ok(())
    }

    fn add_outward(&mut self, interface: Outward<'a>) -> Result<(), Failure> {
        let (agent, name) = interface.place();
        let netns = self.in_lab(agent, name)?;
        if self.rootless {
            return Err(Failure::new(interface.what(), "links between machines need root"));
        }
        let local = self.local(netns);
        match interface {
            Outward::Tunnel(tunnel) => local.tunnels.push(tunnel),
            Outward::LanPort(port) => local.lan_ports.push(port),
            Outward::Groups(groups) => local.groups.push(groups),
        }
        self.outward.push((interface, netns));
        Ok(())
    }

    fn set(
        &mut self,
        operation: &'a Operation,
        r#in: &str,
        on: Option<&str>,
    ) -> Result<(), Failure> {
        let netns = match on {
            Some(name) => self.made(r#in, name)?,
            None => self.netns(r#in)?,
        };
        self.local(netns).settings.push(operation);
        Ok(())
    }

    fn local(&mut self, netns: NetNs) -> &mut Local<'a> {
        self.locals.get_mut(&netns).expect("every space is an agent's")
    }

    /// Return true if there will be a bridge in a namespace.
    pub(super) fn has_bridges(&self, netns: NetNs) -> bool {
        let has = |local: &Local| local.bridged || !local.bridges.is_empty();
        self.locals.get(&netns).is_some_and(has)
    }

    fn netns(&self, agent: &str) -> Result<NetNs, Failure> {
        let found = self.namespaces.get(agent).copied();
        found.ok_or_else(|| Failure::new("read the plan", format!("no agent is named `{agent}`")))
    }

    /// Record that the plan creates an interface.
    fn interface(&mut self, agent: &str, name: &'a str) -> Result<NetNs, Failure> {
        let what = || format!("make interface {name} in {agent}");
        if name.is_empty() || name.len() > NAME_LENGTH {
            return Err(Failure::new(what(), format!("its name is not 1 to {NAME_LENGTH} bytes")));
        }
        let netns = self.netns(agent)?;
        self.last_index += 1;
        let next = self.last_index;
        let local = self.local(netns);
        let index = match netns {
            NetNs::Machine => 0,
            NetNs::Of(_) => next,
        };
        match local.made.insert(name, index) {
            None => Ok(netns),
            Some(_) => Err(Failure::new(what(), "the plan makes two of this name there")),
        }
    }

    /// Record that the plan creates an interface in a namespace of the lab, which ends with it.
    fn in_lab(&mut self, agent: &str, name: &'a str) -> Result<NetNs, Failure> {
        match self.interface(agent, name)? {
            NetNs::Machine => Err(outlives(name)),
            netns @ NetNs::Of(_) => Ok(netns),
        }
    }

    /// Return the names of the interfaces that the plan creates in the machine's own network namespace.
    pub(super) fn on_machine(&self) -> Vec<String> {
        let made = self.locals.get(&NetNs::Machine).map(|local| local.made.keys());
        made.into_iter().flatten().map(|name| (*name).to_owned()).collect()
    }

    /// Return the namespace of an interface that the plan creates, or of the loopback of a new namespace.
    fn made(&self, agent: &str, name: &str) -> Result<NetNs, Failure> {
        let netns = self.netns(agent)?;
        let loopback = name == "lo" && netns != NetNs::Machine;
        if loopback || self.locals[&netns].made.contains_key(name) {
            return Ok(netns);
        }
        let what = format!("use interface {name} in {agent}");
        Err(Failure::new(what, "the plan makes no such interface there before this operation"))
    }

    /// Build the network, each veth as soon as the agents at its ends have started. Return false if an agent
    /// died meanwhile, which PID 1 reports. The calling process must be in the machine's namespace and is
    /// afterwards in any one of the lab's.
    pub(super) fn build(mut self, roster: &mut Roster) -> Result<bool, Failure> {
        if !self.build_veths(roster)?
            || !self.build_outward(roster)?
            || !roster.wait_for_all().map_err(unreadable)?
        {
            return Ok(false);
        }
        let mut locals = std::mem::take(&mut self.locals);
        // This process is in the machine's namespace only until it enters another one.
        if let Some(local) = locals.remove(&NetNs::Machine) {
            local.build(true, &self.alias)?;
        }
        let found = locals.into_iter().filter_map(|(netns, local)| {
            let index = agent(netns)?;
            Some((roster.pid(index), local))
        });
        build_side_by_side(found.collect(), &self.alias)?;
        Ok(true)
    }

    /// Create the interfaces whose packets take the network of the machine. Return false if an agent died.
    fn build_outward(&self, roster: &mut Roster) -> Result<bool, Failure> {
        if self.outward.is_empty() {
            return Ok(true);
        }
        // A lab has one data plane: all are tunnels, or none is.
        let on_lan = self.outward.iter().any(|(interface, _)| interface.lan().is_some());
        let explained = |failure| super::outward::explained(failure, on_lan);
        let socket = local::open()?;
        let mut batch = Batch::new(&socket);
        for (interface, netns) in &self.outward {
            let Some(index) = agent(*netns) else { continue };
            if !roster.wait_for(index).map_err(unreadable)? {
                return Ok(false);
            }
            let place = VethEnd {
                pid: roster.pid(index).map_or_else(std::process::id, i32::cast_unsigned),
                index: self.locals[netns].made[interface.place().1],
            };
            let pushed = batch.push(interface.what(), Verb::Create, interface.message(&place)?);
            pushed.map_err(explained)?;
        }
        batch.finish().map_err(explained)?;
        Ok(true)
    }

    fn build_veths(&mut self, roster: &mut Roster) -> Result<bool, Failure> {
        self.veths
            .sort_by_key(|(_, namespaces)| namespaces.iter().copied().filter_map(agent).max());
        let Some((_, namespaces)) = self.veths.first() else { return Ok(true) };
        // An ordinary user may create interfaces only from a namespace of the lab.
        if let (true, NetNs::Of(index)) = (self.rootless, namespaces[0]) {
            if !roster.wait_for(index).map_err(unreadable)? {
                return Ok(false);
            }
            enter(roster.pid(index), "the lab")?;
        }
        let socket = local::open()?;
        let mut batch = Batch::new(&socket);
        for (ends, namespaces) in &self.veths {
            for index in namespaces.iter().copied().filter_map(agent) {
                if roster.pid(index).is_some() {
                    continue;
                }
                batch.flush()?;
                if !roster.wait_for(index).map_err(unreadable)? {
                    return Ok(false);
                }
            }
            let place = |end: &End, netns: NetNs| VethEnd {
                pid: agent(netns)
                    .and_then(|index| roster.pid(index))
                    .map_or_else(std::process::id, i32::cast_unsigned),
                index: self.locals[&netns].made[end.name.as_str()],
            };
            // An end whose index the kernel chooses comes second: if the first end has no index, the index of
            // the other is ignored (drivers/net/veth.c, `veth_newlink`).
            let swapped = namespaces[0] == NetNs::Machine;
            let (i, j) = if swapped { (1, 0) } else { (0, 1) };
            let (a, b) = (&ends[i], &ends[j]);
            let what = format!("make veth {} in {} to {} in {}", a.name, a.r#in, b.name, b.r#in);
            let places = [place(a, namespaces[i]), place(b, namespaces[j])];
            batch.push(what, Verb::Create, message::veth([a, b], &places))?;
        }
        batch.finish()?;
        Ok(true)
    }
}

fn outlives(name: &str) -> Failure {
    Failure::new(
        format!("make interface {name} in the machine's own network"),
        "it would outlive a lab that is killed",
    )
    .fix("give the host a network namespace of its own, with a veth to the machine")
}

/// Return the agent that holds a namespace of the lab.
fn agent(netns: NetNs) -> Option<usize> {
    match netns {
        NetNs::Machine => None,
        NetNs::Of(index) => Some(index),
    }
}

/// Build namespaces, given by a process in each, side by side: most of the time of a large lab goes to routes,
/// and the kernel adds those of several namespaces at once.
fn build_side_by_side(locals: Vec<(Option<i32>, Local)>, alias: &str) -> Result<(), Failure> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let threads = cpus.min(MOST_THREADS).min(locals.len() / WORTH_A_THREAD).max(1);
    let left = Mutex::new(locals.into_iter());
    let next = || left.lock().ok()?.next();
    let build = || {
        while let Some((pid, local)) = next() {
            let built = enter(pid, local.agent).and_then(|()| local.build(false, alias));
            if built.is_err() {
                // No thread takes another one.
                if let Ok(mut left) = left.lock() {
                    left.by_ref().for_each(drop);
                }
                return built;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(build)).collect();
        let own = build();
        let ended =
            others.into_iter().map(|other| other.join().unwrap_or_else(|_| Err(panicked())));
        // Of several failures the first thread's is reported.
        ended.fold(own, Result::and)
    })
}

fn panicked() -> Failure {
    Failure::new("build the network", "a thread of the builder has panicked")
}

/// Enter the network namespace of an agent that was waited for, with the calling thread.
fn enter(pid: Option<i32>, agent: &str) -> Result<(), Failure> {
    let join = || -> io::Result<()> {
        let pid = pid.ok_or_else(|| io::Error::other("it is not there"))?;
        namespace::join_network(&PidFd::open(pid)?)
    };
    join().with_context(|| format!("enter the network of {agent}"))
}

fn unreadable(error: io::Error) -> Failure {
    Failure::new("wait for the agents", error)
}
