//! The required setup of a plan's directions.

use delaylab_link::Conditions;
use delaylab_proto::Failure;
use delaylab_wire::{ETHERNET_HEADER, VLAN_TAG};

use super::map;
use super::setup::{Bounds, Setup};
use super::support::Support;
use crate::link::configured::ConfiguredConditions;
use crate::protocol::links::EngineLinks;

/// Return the required setup of every direction.
pub fn setups(
    links: &EngineLinks,
    configured: &ConfiguredConditions,
    support: &Support,
) -> Result<Vec<Setup>, Failure> {
    let conditions = configured.conditions()?;
    let numbered = configured.directions().iter().zip(&conditions).enumerate();
    numbered
        .map(|(number, (_, conditions))| setup(links, configured, support, number, conditions))
        .collect()
}

/// Return the required setup of one direction.
pub fn setup(
    links: &EngineLinks,
    configured: &ConfiguredConditions,
    support: &Support,
    number: usize,
    conditions: &Conditions,
) -> Result<Setup, Failure> {
    let direction = &configured.directions()[number];
    let mtu = links.links.iter().find(|link| link.link == direction.link).map_or(0, |l| l.mtu);
    let memory_bytes = links.memory_bytes / configured.directions().len() as u64;
    let bounds = Bounds { longest: mtu + (ETHERNET_HEADER + VLAN_TAG) as u32, memory_bytes };
    map::setup(conditions, support, bounds).map_err(|why| {
        let by = direction.node.as_ref().unwrap_or(&direction.port);
        Failure::new(format!("make the conditions of link {} of {by}", direction.link), why)
            .fix("take `engine: own`, which needs nothing of the kernel")
    })
}
