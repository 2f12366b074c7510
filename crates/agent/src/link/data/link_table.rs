//! The links of a plan in the form that the loop needs: directions and switches by number, over one pool.

use delaylab_link::{Conditions, Pipe};
use delaylab_os::interface::interface_index;
use delaylab_proto::{Context, Failure};
use delaylab_wire::ETHERNET_HEADER;

use super::direction::DirectionState;
use super::pool::Pool;
use super::switch::Switch;
use crate::protocol::links::{EngineLinks, Link, Member};

/// The data of the loop.
pub(super) struct LinkTable {
    pub directions: Vec<DirectionState>,
    pub switches: Vec<Switch>,
    pub pool: Pool,
}

impl LinkTable {
    /// Build all links and find their ports in the calling thread's network namespace. Conditions are in the
    /// order of the plan's members.
    pub(super) fn new(
        links: &EngineLinks,
        conditions: Vec<Conditions>,
        now_ns: i64,
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
                let pipe = Pipe::new(configured, seed(links.seed, link, member), now_ns);
                let longest = link.mtu as usize + ETHERNET_HEADER;
                let switch = switches.len();
                directions
                    .push(DirectionState::new(number, interface, switch, longest, pipe, account));
            }
            let known = numbers
                .clone()
                .zip(&link.members)
                .flat_map(|(number, member)| member.macs.iter().map(move |mac| (mac.0, number)));
            switches.push(Switch::new(numbers, known));
        }
        Ok(Self { directions, switches, pool })
    }

    /// Return the interface indices of all ports, in the order of their directions.
    pub(super) fn interfaces(&self) -> Vec<u32> {
        self.directions.iter().map(|direction| direction.interface).collect()
    }
}

fn port(member: &Member) -> Result<u32, Failure> {
    interface_index(&member.port).with_context(|| format!("find the port {}", member.port))
}

/// Derive a direction's seed from its link and its sender, so that it does not depend on other links and
/// differs on another host (FNV-1a, Fowler, Noll and Vo).
fn seed(of_lab: u64, link: &Link, member: &Member) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let sender = member.node.as_ref().unwrap_or(&member.port);
    let named = link.link.bytes().chain([0]).chain(sender.bytes());
    let bytes = of_lab.to_le_bytes().into_iter().chain(named);
    bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
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
            let all = links
                .links
                .iter()
                .flat_map(|link| link.members.iter().map(move |member| seed(lab, link, member)));
            all.collect::<Vec<_>>()
        };
        let mut seeds = [of_all(1), of_all(2)].concat();
        assert_eq!(of_all(1), seeds[..4]);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 8);
    }
}
