//! The control of a host's links, and the check of a plan's.
//!
//! - [`supervisor`]: takes the requests of sessions and answers for the engine, which is a process of its own; sets
//!   the ports down when it has ended.
//! - [`own_engine`]: the process of delaylab's own engine: the loop, and the thread that answers for it.
//! - [`kernel_engine`]: the process of links in the kernel.
//! - [`task`]: what an engine gets from its supervisor.
//! - [`carriers`]: the carriers of nodes' ends of links, taken and given back; [`ports`]: the ports set up or down.
//! - [`requests`]: the requests; serves them and makes the changes of the timeline, for either kind of engine.
//! - [`passages`]: how packets of probes passed the links.
//! - [`report`](mod@report): the report of an engine, and the period over which it counts.

mod carriers;
mod kernel_engine;
mod own_engine;
mod passages;
mod ports;
mod report;
mod requests;
pub(super) mod supervisor;
pub(super) mod task;

use std::collections::BTreeSet;

use delaylab_proto::Failure;

use super::configured::{Cause, ConfiguredConditions, START};
use crate::protocol::links::EngineLinks;

/// Check the links, without asking the kernel.
pub(crate) fn check(links: &EngineLinks) -> Result<(), Failure> {
    let mut ports = BTreeSet::new();
    for link in &links.links {
        let failed = |why: String| Failure::new(format!("make link {}", link.link), why);
        if link.members.len() < 2 {
            return Err(failed("it has fewer than two ports on its host".into()));
        }
        if !(68..=65_535).contains(&link.mtu) {
            return Err(failed(format!("an MTU of {} bytes is not 68 to 65535", link.mtu)));
        }
        if let Some(twice) = link.members.iter().find(|member| !ports.insert(&member.port)) {
            return Err(failed(format!("its port {} is another's, too", twice.port)));
        }
    }
    if !links.timeline.is_sorted_by_key(|moment| moment.at_ns) {
        return Err(Failure::new("read the timeline", "its moments are not in order"));
    }
    let mut configured = ConfiguredConditions::new(links, START)?;
    for moment in &links.timeline {
        configured.change(&moment.changes, Cause::Timeline, START)?;
    }
    Ok(())
}
