//! Links in the kernel, built in this process's network namespace: for each link a bridge of its ports, and
//! for each direction with conditions an interface whose queues its frames pass before the bridge.

use std::collections::BTreeMap;

use delaylab_os::clsact::{InterfaceLoss, LossProgram, Queue};
use delaylab_os::interface::interface_index;
use delaylab_os::netlink::{RouteSocket, interface, qdiscs};
use delaylab_proto::{Context, Failure};
use netlink_packet_route::RouteNetlinkMessage;

use super::message;
use super::qdisc::{self, Qdisc, Step};
use super::setup::Setup;
use crate::network::batch::{Batch, Verb};
use crate::network::bridge;
use crate::network::redirect::{Hook, redirect};
use crate::protocol::links::{EngineLinks, Link};

/// The kernel's objects of one direction.
pub(crate) struct KernelDirection {
    pub port: String,
    pub index: u32,
    mtu: u32,
    /// The name of the interface that holds its queues, and its index once it exists.
    name: String,
    pub ifb: Option<u32>,
    pub setup: Setup,
    pub loss: Option<InterfaceLoss>,
}

/// Links in the kernel.
pub(crate) struct KernelLinks {
    pub socket: RouteSocket,
    alias: String,
    /// The ports of each bridge, all by index.
    pub bridges: BTreeMap<u32, Vec<u32>>,
    pub directions: Vec<KernelDirection>,
    /// The program that loses frames, once a direction needs it.
    loss: Option<LossProgram>,
}

impl KernelLinks {
    /// Build all links, replacing anything that an earlier engine left.
    pub(crate) fn new(links: &EngineLinks, setups: Vec<Setup>) -> Result<Self, Failure> {
        let socket = RouteSocket::open().context("open a netlink socket")?;
        let alias = links.ports().next().map(alias).transpose()?.unwrap_or_default();
        let (bridges, directions) = (BTreeMap::new(), Vec::new());
        let mut built = Self { socket, alias, bridges, directions, loss: None };
        built.clear(links)?;
        let mut setups = setups.into_iter();
        for (number, link) in links.links.iter().enumerate() {
            let first = built.directions.len();
            for member in &link.members {
                built.directions.push(KernelDirection {
                    port: member.port.clone(),
                    index: index(&member.port)?,
                    mtu: link.mtu,
                    name: ifb_name(built.directions.len()),
                    ifb: None,
                    setup: Setup::default(),
                    loss: None,
                });
            }
            // Set conditions before joining the bridge: no frame may find a link without them.
            for direction in first..built.directions.len() {
                built.change(direction, setups.next().unwrap_or_default())?;
            }
            built.join(number, link, first)?;
        }
        Ok(built)
    }

    /// Change the conditions of one direction; waiting frames stay.
    pub(crate) fn change(&mut self, number: usize, setup: Setup) -> Result<(), Failure> {
        let direction = &self.directions[number];
        let what = format!("set the queues of {}", direction.port);
        let (before, after) = (qdisc::of(&direction.setup), qdisc::of(&setup));
        let steps = qdisc::steps(&before, &after).context(&what)?;
        match direction.ifb {
            Some(ifb) => self.set_queues(ifb, &steps, &what)?,
            None if steps.is_empty() => {}
            None => {
                let ifb = self.make_ifb(number)?;
                if let Err(failure) = self.divert(number, ifb, &steps, &what) {
                    // Without it a later change can be made once the cause is gone.
                    let _ = Batch::one(&self.socket, what, Verb::Change, message::remove(ifb));
                    return Err(failure);
                }
                self.directions[number].ifb = Some(ifb);
            }
        }
        self.lose(number, &setup)?;
        self.directions[number].setup = setup;
        Ok(())
    }

    /// Lose frames of one direction by the program.
    fn lose(&mut self, number: usize, setup: &Setup) -> Result<(), Failure> {
        let direction = &mut self.directions[number];
        match (&direction.loss, &setup.loss) {
            (Some(loss), Some(chances)) => loss.set(chances),
            (None, Some(chances)) => {
                let what = || format!("lose frames of {}", direction.port);
                let program = match &mut self.loss {
                    Some(program) => program,
                    none => none.insert(LossProgram::load().with_context(what)?),
                };
                let queue = if direction.ifb.is_some() { Queue::Made } else { Queue::New };
                let attached = program.attach(&direction.port, queue, chances);
                direction.loss = Some(attached.with_context(what)?);
            }
            (_, None) => {}
        }
        Ok(())
    }

    /// Make or change the queues of an interface.
    fn set_queues(&self, ifb: u32, steps: &[Step], what: &str) -> Result<(), Failure> {
        let mut batch = Batch::new(&self.socket);
        for step in steps {
            let (verb, queue): (_, &Qdisc) = match step {
                Step::Make(queue) => (Verb::Create, queue),
                Step::Change(queue) => (Verb::Change, queue),
            };
            batch.push(what.to_owned(), verb, message::queue(ifb, queue))?;
        }
        batch.finish()
    }

    /// Make the queues of a new interface, and let what a direction's port receives pass them.
    fn divert(&self, number: usize, ifb: u32, steps: &[Step], what: &str) -> Result<(), Failure> {
        let direction = &self.directions[number];
        // A program that loses frames has made the hook.
        let (port, hooked) = (direction.index, direction.loss.is_some());
        self.set_queues(ifb, steps, what)?;
        let mut batch = Batch::new(&self.socket);
        if !hooked {
            batch.push(what.to_owned(), Verb::Create, message::ingress(port))?;
        }
        batch.push(what.to_owned(), Verb::Create, redirect(port, Hook::Received, ifb))?;
        batch.finish()
    }

    /// Check that [`KernelLinks::change`] can make this change.
    pub(crate) fn check(&self, number: usize, setup: &Setup) -> Result<(), Failure> {
        let direction = &self.directions[number];
        let steps = qdisc::steps(&qdisc::of(&direction.setup), &qdisc::of(setup));
        let what = || format!("change the queues of {}", direction.port);
        steps.map(drop).with_context(what)
    }

    /// Return notes on the conditions that the kernel implements in its own way.
    pub(crate) fn notes(&self) -> Vec<String> {
        let jitters = |direction: &&KernelDirection| {
            direction.setup.netem.as_ref().is_some_and(|it| it.jitter.is_some())
        };
        let note = |direction: &KernelDirection| {
            format!("{}: with netem's jitter frames overtake each other", direction.port)
        };
        self.directions.iter().filter(jitters).map(note).collect()
    }

    fn make_ifb(&self, number: usize) -> Result<u32, Failure> {
        let direction = &self.directions[number];
        self.make(&direction.name, message::ifb(&direction.name, direction.mtu))
    }

    fn join(&mut self, number: usize, link: &Link, first: usize) -> Result<(), Failure> {
        let name = bridge_name(number);
        let bridge = self.make(&name, message::bridge(&name, link.mtu))?;
        let ports: Vec<u32> =
            self.directions[first..].iter().map(|direction| direction.index).collect();
        let mut batch = Batch::new(&self.socket);
        for &port in &ports {
            let what = format!("make the ports of link {} those of a bridge", link.link);
            batch.push(what.clone(), Verb::Change, message::join(port, bridge))?;
            batch.push(what, Verb::Change, bridge::port(port, ports.len() != 2))?;
        }
        for (member, &port) in link.members.iter().zip(&ports) {
            for &mac in &member.macs {
                let what = format!("keep {mac} behind {}", member.port);
                batch.push(what, Verb::Replace, bridge::hold(mac, port))?;
            }
        }
        batch.finish()?;
        self.bridges.insert(bridge, ports);
        Ok(())
    }

    /// Create an interface, set it up, and return its index.
    fn make(&self, name: &str, message: RouteNetlinkMessage) -> Result<u32, Failure> {
        let what = format!("make interface {name}");
        Batch::one(&self.socket, what.clone(), Verb::Create, message)?;
        let made = index(name)?;
        bridge::quieten([name].into_iter())?;
        Batch::one(&self.socket, what, Verb::Change, message::raise(made, &self.alias))?;
        Ok(made)
    }

    /// Remove what a dead engine left.
    fn clear(&self, links: &EngineLinks) -> Result<(), Failure> {
        let bridges = (0..links.links.len()).map(bridge_name);
        let count = links.ports().count();
        for name in bridges.chain((0..count).map(ifb_name)) {
            if let Ok(left) = interface_index(&name) {
                let what = format!("remove interface {name}");
                Batch::one(&self.socket, what, Verb::Change, message::remove(left))?;
            }
        }
        let left = qdiscs::read(&self.socket).context("read the queues")?;
        for port in links.ports() {
            let index = index(port)?;
            if left.iter().any(|queue| queue.interface == index && queue.kind == "clsact") {
                let what = format!("remove the filters of {port}");
                let gone = message::remove_queue(index, 0xffff_0000, 0xffff_fff1);
                Batch::one(&self.socket, what, Verb::Change, gone)?;
            }
        }
        Ok(())
    }
}

/// Return the name of a link's bridge. No lab file can use this name, because of the `~`.
fn bridge_name(link: usize) -> String {
    format!("bridge~{link}")
}

fn ifb_name(direction: usize) -> String {
    format!("ifb~{direction}")
}

fn index(name: &str) -> Result<u32, Failure> {
    interface_index(name).with_context(|| format!("find interface {name}"))
}

/// Read the mark of the lab, which its ports carry as their alias.
fn alias(port: &str) -> Result<String, Failure> {
    interface::alias(index(port)?).with_context(|| format!("read the mark of {port}"))
}
