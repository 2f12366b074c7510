//! The check whether this kernel can carry the links of a plan.

use delaylab_proto::Failure;

use super::plan::wants;
use super::probe::probe;
use super::qdisc;
use crate::link::control::asked::Asked;
use crate::link::plan::Links;

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
