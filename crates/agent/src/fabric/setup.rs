//! `setup`: the agent inside a virtual machine configures the system as the plan describes the node.

use std::collections::BTreeMap;
use std::time::Duration;
use std::{fs, io};

use delaylab_os::netlink::{self, changes};
use delaylab_os::process::namespace;
use delaylab_os::{interface, kernel};
use delaylab_proto::{Context, Failure};

use super::local::{self, Local};
use super::{message, names};
use crate::network::batch::{Batch, Verb};
use crate::protocol::lab::{NetworkCard, Operation, Setup};
use crate::protocol::mac::Mac;
use crate::protocol::programs::Nothing;
use crate::session::Session;

/// The time that a network card has to get its carrier.
const LINK: Duration = Duration::from_secs(30);
/// The time that a network card has to appear.
const CARD: Duration = Duration::from_secs(10);

/// Configure the machine. Only a monitor requests this, from an agent that is alone in its machine.
pub(crate) fn serve(request: Setup, _: &mut Session) -> Result<Nothing, Failure> {
    if std::process::id() == 1 || !crate::init::is_alone() {
        return Err(Failure::new("set up a machine", "this agent is not in a machine of its own"));
    }
    namespace::set_hostname(&request.hostname).context("set the hostname")?;
    if let Err(error) = names::add(&request.hosts) {
        // Such as a root that cannot be written to. The machine works without names; the console says so.
        eprintln!("delaylab-agent: write {}: {error}", names::SYSTEM);
    }
    set_sysctls(&request.sysctls)?;
    let mut local = Local { agent: &request.hostname, ..Local::default() };
    local.made.insert("lo", local::LOOPBACK);
    name_cards(&request.interfaces, &mut local)?;
    for operation in &request.operations {
        check(operation, &local)?;
        local.settings.push(operation);
    }
    local.build(false, "delaylab")?;
    // Some cards need seconds to get a carrier, and lose all packets until then.
    let down = || request.interfaces.iter().find(|card| !interface::has_carrier(&card.name));
    changes::wait_for_link(LINK, || down().is_none().then_some(()))
        .context("wait for the network cards' links")?;
    if let Some(card) = down() {
        return Err(Failure::new(format!("bring up {}", card.name), "it has found no link"));
    }
    Ok(Nothing {})
}

fn set_sysctls(sysctls: &BTreeMap<String, String>) -> Result<(), Failure> {
    let network = kernel::NetworkParameters::current(None).context("set sysctls")?;
    for (name, value) in sysctls {
        match name.strip_prefix('-') {
            Some(name) => network.set_if_there(name, value),
            None => network.set(name, value),
        }
        .with_context(|| format!("set {}", name.trim_start_matches('-')))?;
    }
    Ok(())
}

fn name_cards<'a>(cards: &'a [NetworkCard], local: &mut Local<'a>) -> Result<(), Failure> {
    let socket = local::open()?;
    let there = wait_for(cards).context("list the network cards")?;
    rename(&socket, cards, &there)?;
    for card in cards {
        local.made.insert(&card.name, there[&card.mac.0]);
    }
    Ok(())
}

/// Wait for the network cards; return all that are there once the wanted ones have come or the time is up.
fn wait_for(cards: &[NetworkCard]) -> io::Result<BTreeMap<[u8; 6], u32>> {
    // The cards may appear some time after their driver was loaded.
    changes::wait_for_link(CARD, || {
        let there = addresses().ok()?;
        cards.iter().all(|card| there.contains_key(&card.mac.0)).then_some(())
    })?;
    addresses()
}

/// Rename the cards in two steps, because one card's new name may be another's old one.
fn rename(
    socket: &netlink::RouteSocket,
    cards: &[NetworkCard],
    there: &BTreeMap<[u8; 6], u32>,
) -> Result<(), Failure> {
    for temporary in [true, false] {
        let mut batch = Batch::new(socket);
        for card in cards {
            let index = there.get(&card.mac.0).ok_or_else(|| {
                Failure::new(
                    format!("find network card {}", card.name),
                    "the machine has no such card",
                )
                .fix("its kernel may lack the driver: take another `nic`, or another kernel")
            })?;
            let name = if temporary { format!("dl{index}") } else { card.name.clone() };
            let what = format!("name network card {}", card.name);
            batch.push(what, Verb::Change, message::rename(*index, &name, card.mtu))?;
        }
        batch.finish()?;
    }
    Ok(())
}

/// Return the MAC address and index of every network card.
fn addresses() -> io::Result<BTreeMap<[u8; 6], u32>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/sys/class/net")? {
        let folder = entry?.path();
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
        let index = read("ifindex").trim().parse();
        if let (Ok(mac), Ok(index)) = (Mac::try_from(read("address").trim().to_owned()), index) {
            found.insert(mac.0, index);
        }
    }
    Ok(found)
}

fn check(operation: &Operation, local: &Local) -> Result<(), Failure> {
    let on = match operation {
        Operation::Address(address) => Some(&address.on),
        Operation::Queue(queue) => Some(&queue.on),
        Operation::Offloads { on, .. } | Operation::Steering { on, .. } => Some(on),
        Operation::Neighbours(neighbours) => Some(&neighbours.on),
        Operation::Resolved(known) => Some(&known.on),
        Operation::Route(route) => route.on.as_ref(),
        Operation::Veth { .. }
        | Operation::TapDevice(_)
        | Operation::Bridge(_)
        | Operation::Tunnel(_)
        | Operation::LanPort(_)
        | Operation::Groups(_)
        | Operation::Capacity(_) => {
            return Err(Failure::new("set up a machine", "it can only be given settings"));
        }
    };
    match on {
        Some(name) if !local.made.contains_key(name.as_str()) => {
            Err(Failure::new("set up a machine", format!("it has no interface `{name}`")))
        }
        _ => Ok(()),
    }
}
