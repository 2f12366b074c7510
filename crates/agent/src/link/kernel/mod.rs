//! Links carried by the kernel: its bridges join the ports, and its qdiscs implement the conditions
//! (docs/links.md, "Engines").
//!
//! - [`engine`]: the process that builds links, answers for them, and ends when a part has vanished.
//! - [`want`](mod@want): conditions mapped to the kernel's features, or the reason why not. It is pure, as
//!   are [`qdisc`] (the options of qdiscs), [`limits`] (their limits), and [`table`] (jitter as a table).
//! - [`lay`]: builds all of it by the netlink messages of [`message`]; [`counted`] reads the counters.
//! - [`probe`](mod@probe): tries which of these parts the kernel has ([`can`]).

mod can;
mod counted;
mod engine;
mod lay;
mod limits;
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

/// Print as JSON what the kernel supports: each part with null, or the reason why it is unavailable.
pub fn tell() -> Result<(), Failure> {
    let failed =
        |error: &dyn ToString| Failure::new("say what the kernel can do", error.to_string());
    let text = serde_json::to_string(&probe()?).map_err(|error| failed(&error))?;
    writeln!(io::stdout(), "{text}").map_err(|error| failed(&error))
}

/// Check that this kernel can carry these links, initially and throughout their timeline. The kernel is tried
/// before anything is built. Only for single-threaded processes.
pub fn check(links: &Links) -> Result<(), Failure> {
    let can = probe()?;
    let mut asked = Asked::new(links)?;
    let mut before = wants(links, &asked, &can)?;
    for moment in &links.timeline {
        asked.change(&moment.changes)?;
        let after = wants(links, &asked, &can)?;
        for (number, after) in after.into_iter().enumerate() {
            let after = after.keeping(&before[number]);
            qdisc::steps(&qdisc::of(&before[number]), &qdisc::of(&after)).map_err(|why| {
                let link = &asked.directions()[number].link;
                Failure::new(format!("change link {link} {} ns on", moment.at_ns), why)
            })?;
            before[number] = after;
        }
    }
    Ok(())
}

/// Return the required setup of every direction.
fn wants(links: &Links, asked: &Asked, can: &Can) -> Result<Vec<Want>, Failure> {
    let conditions = asked.conditions()?;
    let numbered = asked.directions().iter().zip(&conditions).enumerate();
    numbered.map(|(number, (_, conditions))| want(links, asked, can, number, conditions)).collect()
}

/// Return the required setup of one direction.
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
