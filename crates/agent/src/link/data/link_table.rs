//! The links of a plan in the form that the loop needs: directions and switches by number, over one pool.

use std::collections::HashMap;
use std::ops::Range;

use delaylab_link::{Conditions, LinkState, Pipe};
use delaylab_os::clock::Monotonic;
use delaylab_os::interface::interface_index;
use delaylab_proto::{Context, Failure};
use delaylab_wire::ETHERNET_HEADER;

use super::direction::DirectionState;
use super::pool::Pool;
use crate::protocol::links::{EngineLinks, Link, Member};

/// The data of the loop.
pub(super) struct LinkTable {
    /// The directions of what members send, by the number of their port, then of what some of them receive.
    pub directions: Vec<DirectionState>,
    pub switches: Vec<Switch>,
    /// The direction of what is received by each port that has conditions for it, by the port's number.
    pub receivers: HashMap<u32, u32>,
    pub pool: Pool,
}

impl LinkTable {
    /// Build all links and find their ports in the calling thread's network namespace. Conditions are in the
    /// order of the plan's members.
    pub(super) fn new(
        links: &EngineLinks,
        conditions: Vec<Conditions>,
        now: Monotonic,
    ) -> Result<Self, Failure> {
        let longest = links.longest_frame();
        let (pool, account) =
            Pool::new(links.memory_bytes, longest, conditions.len()).ok_or_else(|| {
                let bytes = links.memory_bytes;
                let why = format!("{bytes} bytes are too few for frames of {longest}");
                Failure::new("make the memory of links", why).fix("set a larger bound")
            })?;
        let (mut directions, mut switches) = (Vec::new(), Vec::new());
        let mut conditions = conditions.into_iter();
        for link in &links.links {
            let first = directions.len() as u32;
            let numbers = first..first + link.members.len() as u32;
            for (number, member) in numbers.clone().zip(&link.members) {
                let interface = port(member)?;
                let configured = conditions.next().unwrap_or_default();
                let is_down = configured.state == LinkState::Down;
                let pipe = Pipe::new(configured, seed(links.seed, link, member, false), now.ns())
                    .with_network_beyond(member.underlay_ns.into());
                let longest = link.mtu as usize + ETHERNET_HEADER;
                let switch = switches.len();
                let mut new =
                    DirectionState::new(number, interface, switch, longest, pipe, account);
                new.is_down = is_down;
                directions.push(new);
            }
            let known = numbers
                .clone()
                .zip(&link.members)
                .flat_map(|(number, member)| member.macs.iter().map(move |mac| (mac.0, number)));
            switches.push(Switch::new(numbers, known));
        }
        let received =
            links.members().zip(0..).filter(|((_, member), _)| member.received.is_some());
        let mut receivers = HashMap::new();
        for ((link, member), by) in received {
            let (number, from) = (directions.len() as u32, &directions[by as usize]);
            let (interface, switch, longest) = (from.interface, from.switch, from.longest);
            let configured = conditions.next().unwrap_or_default();
            let pipe = Pipe::new(configured, seed(links.seed, link, member, true), now.ns());
            let mut new = DirectionState::new(number, interface, switch, longest, pipe, account);
            new.receives_by = Some(by);
            directions.push(new);
            receivers.insert(by, number);
        }
        Ok(Self { directions, switches, receivers, pool })
    }

    /// Return the interface indices of all ports, in the order of their directions.
    pub(super) fn interfaces(&self) -> Vec<u32> {
        let ports = self.directions.iter().filter(|direction| direction.receives_by.is_none());
        ports.map(|direction| direction.interface).collect()
    }
}

fn port(member: &Member) -> Result<u32, Failure> {
    interface_index(&member.port).with_context(|| format!("find the port {}", member.port))
}

/// Derive a direction's seed from its link and its sender, or receiver, so that it does not depend on other links
/// and differs on another host (FNV-1a, Fowler, Noll and Vo).
fn seed(of_lab: u64, link: &Link, member: &Member, receives: bool) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let sender = member.node.as_ref().unwrap_or(&member.port);
    let named = link.link.bytes().chain([0]).chain(sender.bytes());
    // No name has a zero byte.
    let end = if receives { &b"\0to"[..] } else { &[] };
    let bytes = of_lab.to_le_bytes().into_iter().chain(named).chain(end.iter().copied());
    bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// The limit on MAC addresses learned on one link, so that a sender of forged ones cannot fill the memory.
const MOST_ADDRESSES: usize = 4096;

/// A MAC address.
type Address = [u8; 6];

/// One link with its MAC table. Its ports have the numbers of their directions, which are consecutive.
pub(super) struct Switch {
    ports: Range<u32>,
    /// The ports of the plan's addresses: no frame changes them, so no node can have the frames of another one.
    planned: HashMap<Address, u32>,
    /// The ports of other addresses, by the last frame from each.
    learned: HashMap<Address, u32>,
}

impl Switch {
    /// Build a link with the MAC addresses known to be behind its ports.
    pub(super) fn new(ports: Range<u32>, planned: impl Iterator<Item = (Address, u32)>) -> Self {
        Self { ports, planned: planned.collect(), learned: HashMap::new() }
    }

    fn is_cable(&self) -> bool {
        self.ports.len() == 2
    }

    /// Learn that the source address of a frame is behind the port at which it arrived. Return true if another port had
    /// that address.
    pub(super) fn learn(&mut self, frame: &[u8], port: u32) -> bool {
        if self.is_cable() {
            return false;
        }
        let Some(Ok(source)) = frame.get(6..12).map(Address::try_from) else { return false };
        if let Some(of_plan) = self.planned.get(&source) {
            return *of_plan != port;
        }
        let group = source[0] & 1 != 0;
        if group || (self.learned.len() >= MOST_ADDRESSES && !self.learned.contains_key(&source)) {
            return false;
        }
        self.learned.insert(source, port).is_some_and(|before| before != port)
    }

    /// Return the egress ports of a frame that arrived at `from`: the other end of a cable, else the port
    /// with its destination behind it, or all ports but `from` for unknown and group addresses.
    pub(super) fn towards(&self, frame: &[u8], from: u32) -> impl Iterator<Item = u32> + use<> {
        let destination = frame.get(..6).and_then(|bytes| Address::try_from(bytes).ok());
        let known = destination
            .filter(|_| !self.is_cable())
            .and_then(|to| self.planned.get(&to).or_else(|| self.learned.get(&to)).copied())
            .filter(|&port| port != from);
        let ports = known.map_or(self.ports.clone(), |port| port..port + 1);
        ports.filter(move |&port| port != from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_direction_draws_by_itself() {
        let links: EngineLinks = serde_json::from_value(json!({"links": [
            {"link": "a", "members": [{"port": "p", "node": "bc"}, {"port": "q", "node": "c"}]},
            {"link": "ab", "members": [{"port": "r", "node": "c"}, {"port": "s"}]}]}))
        .unwrap();
        let of_all = |lab: u64| {
            let both =
                |(link, member)| [false, true].map(|receives| seed(lab, link, member, receives));
            links.members().flat_map(both).collect::<Vec<_>>()
        };
        let mut seeds = [of_all(1), of_all(2)].concat();
        assert_eq!(of_all(1), seeds[..8]);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 16);
    }

    fn frame(to: u8, from: u8) -> [u8; 14] {
        let mut frame = [0; 14];
        (frame[0], frame[5], frame[6], frame[11]) = (2, to, 2, from);
        frame
    }

    fn towards(switch: &Switch, to: u8, from: u32) -> Vec<u32> {
        switch.towards(&frame(to, 0), from).collect()
    }

    #[test]
    fn a_cable_leads_to_its_other_end_whatever_the_address() {
        let mut switch = Switch::new(4..6, [([2, 0, 0, 0, 0, 1], 4)].into_iter());
        switch.learn(&frame(9, 2), 4);
        assert_eq!((towards(&switch, 2, 4), towards(&switch, 1, 5)), (vec![5], vec![4]));
    }

    #[test]
    fn a_shared_link_leads_to_who_is_known_and_else_to_all() {
        let mut switch = Switch::new(0..3, [([2, 0, 0, 0, 0, 1], 1)].into_iter());
        assert_eq!(towards(&switch, 1, 0), [1]);
        assert_eq!(towards(&switch, 7, 0), [1, 2]);
        assert!(!switch.learn(&frame(1, 7), 2));
        assert_eq!(towards(&switch, 7, 0), [2]);
        assert!(switch.learn(&frame(1, 7), 1), "it has moved");
        assert_eq!(towards(&switch, 7, 0), [1]);
        let mut group = frame(0, 0);
        group[0] = 0xff;
        assert_eq!(switch.towards(&group, 1).collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn an_address_of_the_plan_stays_where_it_is() {
        let mut switch = Switch::new(0..3, [([2, 0, 0, 0, 0, 1], 1)].into_iter());
        assert!(!switch.learn(&frame(7, 1), 1));
        assert!(switch.learn(&frame(7, 1), 2), "another port's frames have it");
        assert_eq!(towards(&switch, 1, 0), [1]);
    }

    #[test]
    fn made_up_addresses_do_not_fill_the_memory() {
        let mut switch = Switch::new(0..3, [].into_iter());
        for number in 0..10_000_u32 {
            let mut frame = frame(1, 0);
            frame[8..12].copy_from_slice(&number.to_be_bytes());
            switch.learn(&frame, 0);
        }
        assert_eq!(switch.learned.len(), MOST_ADDRESSES);
    }
}
