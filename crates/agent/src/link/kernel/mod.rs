//! Links carried by the kernel: its bridges join the ports, and its qdiscs implement the conditions
//! (docs/links.md, "Engines").
//!
//! - [`setup`]: conditions mapped to the setup of the kernel's qdiscs, or the reason why not. It is pure, as is
//!   [`qdisc`], the options of qdiscs.
//! - [`links`]: builds all of it by the netlink messages of [`message`]; [`counters`] reads the counters.
//! - [`features`]: the features of the kernel that links may need; [`support`] tries which there are.

pub(crate) mod counters;
pub(crate) mod features;
pub(crate) mod limits;
pub(crate) mod links;
mod message;
mod qdisc;
pub(super) mod setup;
pub(crate) mod support;
#[cfg(test)]
mod tests;

use delaylab_proto::Failure;

use super::configured::{Cause, ConfiguredConditions, START};
use crate::protocol::links::EngineLinks;
use setup::setups;
use support::try_features;

/// Check that this kernel can carry these links, initially and throughout their timeline. The kernel is tried
/// before anything is built. Only for single-threaded processes.
pub(crate) fn check(links: &EngineLinks) -> Result<(), Failure> {
    let support = try_features()?;
    let mut configured = ConfiguredConditions::new(links, START)?;
    let mut before = setups(links, &configured, &support)?;
    for moment in &links.timeline {
        configured.change(&moment.changes, Cause::Timeline, START)?;
        let after = setups(links, &configured, &support)?;
        for (number, after) in after.into_iter().enumerate() {
            let after = after.keeping(&before[number]);
            qdisc::steps(&qdisc::of(&before[number]), &qdisc::of(&after)).map_err(|why| {
                let link = &configured.directions()[number].link;
                Failure::new(format!("change link {link} {} ns on", moment.at_ns), why)
            })?;
            before[number] = after;
        }
    }
    Ok(())
}
