//! The required setup of a plan's directions.

use delaylab_proto::Failure;
use delaylab_wire::{ETHERNET_HEADER, VLAN_TAG};

use super::map;
use super::setup::{Bounds, Setup};
use super::support::Support;
use crate::link::configured::ConfiguredConditions;
use crate::protocol::links::EngineLinks;

/// Return the required setup of every direction.
pub(crate) fn setups(
    links: &EngineLinks,
    configured: &ConfiguredConditions,
    support: &Support,
) -> Result<Vec<Setup>, Failure> {
    let numbers = 0..configured.directions().len();
    numbers.map(|number| setup(links, configured, support, number)).collect()
}

/// Return the required setup of one direction.
pub(crate) fn setup(
    links: &EngineLinks,
    configured: &ConfiguredConditions,
    support: &Support,
    number: usize,
) -> Result<Setup, Failure> {
    let direction = &configured.directions()[number];
    let mtu = links.links.iter().find(|link| link.link == direction.link).map_or(0, |l| l.mtu);
    let memory_bytes = links.memory_bytes / configured.directions().len() as u64;
    let bounds = Bounds { longest: mtu + (ETHERNET_HEADER + VLAN_TAG) as u32, memory_bytes };
    map::setup(direction.configured.conditions(), support, bounds).map_err(|why| {
        let by = direction.node.as_ref().unwrap_or(&direction.port);
        Failure::new(format!("make the conditions of link {} of {by}", direction.link), why)
            .fix("take `engine: own`, which needs nothing of the kernel")
    })
}
