//! The part of a lab's network in one namespace, built by one batch.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::AsFd;

use delaylab_os::clsact::lan;
use delaylab_os::files::mount;
use delaylab_os::interface as tap_device;
use delaylab_os::interface::{self, interface_index};
use delaylab_os::netlink::RouteSocket;
use delaylab_proto::{Context, Failure};

use super::message;
use crate::network::batch::{Batch, Verb};
use crate::network::redirect::{self, Hook};
use crate::network::{bridge, neighbours};
use crate::protocol::lab::{Bridge, Capacity, End, Neighbours, Operation};
use crate::protocol::outward::{Groups, LanPort, Tunnel};

/// The interface index of `lo` in every namespace.
pub(super) const LOOPBACK: u32 = 1;

/// The interfaces and settings of one namespace.
#[derive(Default)]
pub(super) struct Local<'a> {
    /// The name of an agent in the namespace, for messages.
    pub agent: &'a str,
    /// Every interface that the plan creates here, with its index. In the machine's namespace the index is 0
    /// (unknown) until the interface exists.
    pub made: BTreeMap<&'a str, u32>,
    pub bridges: Vec<&'a Bridge>,
    pub tap_devices: Vec<&'a End>,
    pub capacities: Vec<&'a Capacity>,
    /// The tunnels, which are there when this namespace is built.
    pub tunnels: Vec<&'a Tunnel>,
    /// The links' ports on LANs, and the interfaces that join groups there; they exist, too.
    pub lan_ports: Vec<&'a LanPort>,
    pub groups: Vec<&'a Groups>,
    pub settings: Vec<&'a Operation>,
    /// True if links will have bridges here that the plan does not name.
    pub bridged: bool,
    /// Ports of a link engine: the kernel must answer none of the frames that arrive there.
    pub ports: Vec<&'a str>,
}

impl Local<'_> {
    /// Build the interfaces and settings of this process's current namespace, the machine's or one of the
    /// lab's.
    pub(super) fn build(mut self, on_machine: bool, alias: &str) -> Result<(), Failure> {
        if on_machine {
            for (name, index) in &mut self.made {
                *index = interface_index(name).with_context(|| format!("find interface {name}"))?;
            }
        } else {
            self.made.insert("lo", LOOPBACK);
        }
        let socket = open()?;
        let mut batch = Batch::new(&socket);
        let agent = self.agent;
        for end in &self.tap_devices {
            let what = format!("make the TAP {} in {agent}", end.name);
            let index = self.made[end.name.as_str()];
            tap_device::make_tap(&end.name, index).map_err(|error| {
                Failure::new(&what, error)
                    .fix("virtual machines need read and write on /dev/net/tun")
            })?;
            batch.push(what, Verb::Change, message::tap_device(end, index))?;
        }
        for bridge in &self.bridges {
            let what = format!("make bridge {} in {agent}", bridge.name);
            let index = self.made[bridge.name.as_str()];
            batch.push(what, Verb::Create, message::bridge(bridge, index))?;
        }
        for capacity in &self.capacities {
            let what = format!("make interface {} in {agent}", capacity.name);
            let index = self.made[capacity.name.as_str()];
            batch.push(what, Verb::Create, message::capacity(capacity, index))?;
        }
        for tunnel in &self.tunnels {
            let index = self.made[tunnel.name.as_str()];
            for entry in message::tunnel_entries(tunnel, index) {
                let what = format!("add a machine to tunnel {} in {agent}", tunnel.name);
                batch.push(what, Verb::Append, entry)?;
            }
        }
        batch.flush()?;
        let tunnels = self.tunnels.iter().map(|tunnel| tunnel.name.as_str());
        let lan_ports = self.lan_ports.iter().map(|port| port.name.as_str());
        let capacities = self.capacities.iter().map(|capacity| capacity.name.as_str());
        let outward = tunnels.chain(lan_ports).chain(capacities);
        // Do this before the interfaces are up: the kernel would start to send at once.
        bridge::quieten(self.ports.iter().copied().chain(self.unused_bridges()).chain(outward))?;
        self.rewrite_multicast()?;
        self.configure(&mut batch)?;
        self.share_rates(&mut batch)?;
        self.raise(&mut batch, alias)?;
        self.wait_for_neighbours(&mut batch)?;
        self.resolve(&mut batch)?;
        self.route(&mut batch)?;
        self.join_groups(&mut batch)?;
        batch.finish()?;
        self.set_offloads()?;
        self.steer()
    }

    /// Let multicast leave on a LAN to its link alone.
    fn rewrite_multicast(&self) -> Result<(), Failure> {
        if self.lan_ports.is_empty() {
            return Ok(());
        }
        let leaves_to = |port: &&LanPort| {
            let to = port.to.0;
            port.from.iter().map(move |mac| (mac.0, to)).collect::<Vec<_>>()
        };
        let leaves_to: Vec<_> = self.lan_ports.iter().flat_map(leaves_to).collect();
        lan::rewrite_multicast(self.lan_ports.iter().map(|port| port.name.as_str()), &leaves_to)
            .with_context(|| format!("load the program of links on a LAN in {}", self.agent))
    }

    /// Join the groups of links on a LAN, by interfaces that are up: the kernel reports at once.
    fn join_groups(&self, batch: &mut Batch) -> Result<(), Failure> {
        for interface in &self.groups {
            let index = self.made[interface.name.as_str()];
            for group in &interface.groups {
                let what = format!("join group {group} by {} in {}", interface.name, self.agent);
                batch.push(what, Verb::Create, message::membership(*group, index))?;
            }
        }
        Ok(())
    }

    /// Return the bridges that no node's stack uses. The host's stack would take what nodes send to them, and
    /// with it packets for its nodes on other links.
    fn unused_bridges(&self) -> impl Iterator<Item = &str> {
        let used: HashSet<&str> = self
            .settings
            .iter()
            .filter_map(|setting| match setting {
                Operation::Address(address) => Some(address.on.as_str()),
                _ => None,
            })
            .collect();
        let bridges = self.bridges.iter().map(|bridge| bridge.name.as_str());
        bridges.filter(move |bridge| !used.contains(bridge))
    }

    fn configure(&self, batch: &mut Batch) -> Result<(), Failure> {
        for setting in &self.settings {
            let (what, message) = match setting {
                Operation::Address(address) => {
                    let prefix = address.address;
                    let what = format!(
                        "add address {}/{} to {} in {}",
                        prefix.address, prefix.length, address.on, address.r#in
                    );
                    (what, message::address(prefix, self.made[address.on.as_str()]))
                }
                Operation::Queue(queue) => {
                    let what = format!("set the queue of {} in {}", queue.on, queue.r#in);
                    (what, message::queue(queue, self.made[queue.on.as_str()]))
                }
                _ => continue,
            };
            batch.push(what, Verb::Create, message)?;
        }
        Ok(())
    }

    /// Lead what leaves by interfaces that share a rate through the queue of that rate.
    fn share_rates(&self, batch: &mut Batch) -> Result<(), Failure> {
        for capacity in &self.capacities {
            let index = self.made[capacity.name.as_str()];
            let what = format!("set the rate of {} in {}", capacity.name, self.agent);
            batch.push(what, Verb::Create, message::shared_rate(capacity, index))?;
            for name in &capacity.of {
                let port = self.made[name.as_str()];
                let what = format!("let {name} in {} leave by {}", self.agent, capacity.name);
                batch.push(what.clone(), Verb::Create, redirect::leaving(port))?;
                batch.push(what, Verb::Create, redirect::redirect(port, Hook::Leaving, index))?;
            }
        }
        Ok(())
    }

    fn raise(&self, batch: &mut Batch, alias: &str) -> Result<(), Failure> {
        let mut masters = HashMap::new();
        for bridge in &self.bridges {
            let index = self.made[bridge.name.as_str()];
            masters.extend(bridge.ports.iter().map(|port| (port.as_str(), index)));
        }
        for (name, &index) in &self.made {
            let what = format!("bring up {name} in {}", self.agent);
            let master = masters.get(name).copied();
            if *name != "lo" {
                // Apart from raising it: marking an interface that is up costs as much again, because the kernel
                // describes it to all listeners once more.
                batch.push(what.clone(), Verb::Change, message::mark(index, alias))?;
            }
            batch.push(what.clone(), Verb::Change, message::raise(index, master))?;
            if master.is_some() {
                batch.push(what, Verb::Change, bridge::port(index, true))?;
            }
        }
        for (port, macs) in self.bridges.iter().flat_map(|bridge| &bridge.macs) {
            for &mac in macs {
                let what = format!("keep {mac} behind {port} in {}", self.agent);
                batch.push(what, Verb::Replace, bridge::hold(mac, self.made[port.as_str()]))?;
            }
        }
        Ok(())
    }

    fn wait_for_neighbours(&self, batch: &mut Batch) -> Result<(), Failure> {
        for setting in &self.settings {
            let Operation::Neighbours(Neighbours { r#in: agent, on, tries }) = setting else {
                continue;
            };
            let index = self.made[on.as_str()];
            // A kernel without IPv6 has no table of its neighbours.
            for is_ipv4 in [true, false] {
                if self.has_address(on, is_ipv4) {
                    let what = format!("let {on} in {agent} wait for neighbours");
                    let message = neighbours::message(index, is_ipv4, *tries);
                    batch.push(what, Verb::Change, message)?;
                }
            }
        }
        Ok(())
    }

    fn resolve(&self, batch: &mut Batch) -> Result<(), Failure> {
        for setting in &self.settings {
            let Operation::Resolved(known) = setting else { continue };
            let what = format!("add the neighbour {} to {}", known.address, known.r#in);
            let message = neighbours::permanent(self.made[known.on.as_str()], known);
            batch.push(what, Verb::Replace, message)?;
        }
        Ok(())
    }

    fn has_address(&self, interface: &str, ipv4: bool) -> bool {
        self.settings.iter().any(|setting| {
            matches!(setting, Operation::Address(address)
                if address.on == interface && address.address.address.is_ipv4() == ipv4)
        })
    }

    fn route(&self, batch: &mut Batch) -> Result<(), Failure> {
        for setting in &self.settings {
            let Operation::Route(route) = setting else { continue };
            let index = route.on.as_ref().map(|name| self.made[name.as_str()]);
            for to in &route.to {
                let what = format!("add route to {}/{} in {}", to.address, to.length, route.r#in);
                batch.push(what, Verb::Create, message::route(*to, route, index))?;
            }
        }
        Ok(())
    }

    fn set_offloads(&self) -> Result<(), Failure> {
        for setting in &self.settings {
            let Operation::Offloads { r#in, on, enabled } = setting else { continue };
            interface::set_offloads(on, *enabled)
                .with_context(|| format!("set the offloads of {on} in {in}", r#in = r#in))?;
        }
        Ok(())
    }

    fn steer(&self) -> Result<(), Failure> {
        let mut sys = None;
        for setting in &self.settings {
            let Operation::Steering { r#in, on, avoid } = setting else { continue };
            let failed = |error: io::Error| {
                Failure::new(format!("keep the stack of {on} in {in} off CPUs {avoid:?}"), error)
                    .fix("`steer` needs root outside of user namespaces, and a CPU beside the engine's")
            };
            let sys = match &sys {
                Some(sys) => sys,
                None => sys.insert(mount::detached_sys().map_err(failed)?),
            };
            interface::keep_off_cpus(sys.as_fd(), on, avoid).map_err(failed)?;
        }
        Ok(())
    }
}

/// Open a netlink socket in this process's current namespace.
pub(super) fn open() -> Result<RouteSocket, Failure> {
    RouteSocket::open().context("open a netlink socket")
}

/// Remove those of these interfaces that still exist in this process's current namespace. The kernel would
/// also remove them, once it gets round to tearing down the dead namespace of their peers.
pub(super) fn remove(names: &[String]) -> Result<(), Failure> {
    for name in names {
        let Ok(index) = interface_index(name) else { continue };
        let socket = open()?;
        let mut batch = Batch::new(&socket);
        batch.push(format!("remove {name}"), Verb::Change, message::remove(index))?;
        let removed = batch.finish();
        if interface_index(name).is_ok() {
            removed?;
        }
    }
    Ok(())
}
