//! Links that the kernel carries: its bridges join the ports, its queues make the conditions
//! (docs/links.md, "Engines").
//!
//! - [`engine`]: the process that lays them, answers for them, and ends when a part has vanished.
//! - [`want`]: conditions as what the kernel has for them, or why not; pure, and so are [`qdisc`], the
//!   options of queues, and [`table`], jitter as values.
//! - [`lay`] makes all of it by the netlink messages of [`message`]; [`counted`] reads what came of it.
//! - [`probe`]: what of this the kernel can do at all ([`can`]).

mod can;
mod counted;
mod engine;
mod lay;
mod message;
mod probe;
mod qdisc;
mod table;
#[cfg(test)]
mod tests;
mod want;

use std::io::{self, Write};

use delaylab_link::Conditions;
use delaylab_proto::Failure;

use super::asked::Asked;
use super::plan::{HEADER, Links, TAG};
use can::Can;
use want::{Bounds, Want};

pub use engine::live;
use probe::probe;

/// Writes as JSON what the kernel can do: each part with null, or the reason why it cannot be had.
pub fn tell() -> Result<(), Failure> {
    let failed =
        |error: &dyn ToString| Failure::new("say what the kernel can do", error.to_string());
    let text = serde_json::to_string(&probe()?).map_err(|error| failed(&error))?;
    writeln!(io::stdout(), "{text}").map_err(|error| failed(&error))
}

/// Whether this kernel can carry these links, at first and by their timeline: tried, before anything is
/// made. The caller has one thread.
pub fn check(links: &Links) -> Result<(), Failure> {
    let can = probe()?;
    let mut asked = Asked::new(links)?;
    wants(links, &asked, &can)?;
    for moment in &links.timeline {
        asked.change(&moment.changes)?;
        wants(links, &asked, &can)?;
    }
    Ok(())
}

/// What every direction is to have.
fn wants(links: &Links, asked: &Asked, can: &Can) -> Result<Vec<Want>, Failure> {
    let conditions = asked.conditions()?;
    let numbered = asked.directions().iter().zip(&conditions).enumerate();
    numbered.map(|(number, (_, conditions))| want(links, asked, can, number, conditions)).collect()
}

/// What one direction is to have.
fn want(
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
    Want::new(conditions, can, bounds).map_err(|why| {
        let by = direction.node.as_ref().unwrap_or(&direction.port);
        Failure::new(format!("make the conditions of link {} of {by}", direction.link), why)
            .fix("take `engine: own`, which needs nothing of the kernel")
    })
}
