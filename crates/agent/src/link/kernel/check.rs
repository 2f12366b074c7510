//! The check whether this kernel can carry the links of a plan.

use delaylab_proto::Failure;

use super::plan_setup::setups;
use super::qdisc;
use super::try_features::try_features;
use crate::link::configured::{Cause, ConfiguredConditions};
use crate::protocol::links::EngineLinks;

/// Check that this kernel can carry these links, initially and throughout their timeline. The kernel is tried
/// before anything is built. Only for single-threaded processes.
pub(crate) fn check(links: &EngineLinks) -> Result<(), Failure> {
    let support = try_features()?;
    let mut configured = ConfiguredConditions::new(links)?;
    let mut before = setups(links, &configured, &support)?;
    for moment in &links.timeline {
        configured.change(&moment.changes, Cause::Timeline)?;
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
