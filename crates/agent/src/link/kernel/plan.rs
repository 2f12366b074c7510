//! The required setup of a plan's directions.

use delaylab_link::Conditions;
use delaylab_proto::Failure;

use super::can::Can;
use super::map;
use super::want::{Bounds, Want};
use crate::link::control::asked::Asked;
use crate::link::plan::{HEADER, Links, TAG};

/// Return the required setup of every direction.
pub fn wants(links: &Links, asked: &Asked, can: &Can) -> Result<Vec<Want>, Failure> {
    let conditions = asked.conditions()?;
    let numbered = asked.directions().iter().zip(&conditions).enumerate();
    numbered.map(|(number, (_, conditions))| want(links, asked, can, number, conditions)).collect()
}

/// Return the required setup of one direction.
pub fn want(
    links: &Links,
    asked: &Asked,
    can: &Can,
    number: usize,
    conditions: &Conditions,
) -> Result<Want, Failure> {
    let direction = &asked.directions()[number];
    let mtu = links.links.iter().find(|link| link.link == direction.link).map_or(0, |l| l.mtu);
    let memory_bytes = links.memory_bytes / asked.directions().len() as u64;
    let bounds = Bounds { longest: mtu + (HEADER + TAG) as u32, memory_bytes };
    map::want(conditions, can, bounds).map_err(|why| {
        let by = direction.node.as_ref().unwrap_or(&direction.port);
        Failure::new(format!("make the conditions of link {} of {by}", direction.link), why)
            .fix("take `engine: own`, which needs nothing of the kernel")
    })
}
