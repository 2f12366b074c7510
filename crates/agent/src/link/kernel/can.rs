//! What the kernel that runs here can do to frames: tried, not looked up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A part of the kernel that links may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Delay, jitter, loss, duplicates, errors, order.
    Netem,
    /// Rates.
    Tbf,
    /// Queues that drop by delay.
    Codel,
    /// Interfaces that only have a queue.
    Ifb,
    /// Where frames are caught as they come in.
    Clsact,
    /// A filter for all frames, and the action that hands them on.
    Mirred,
    /// What joins the ports of a link.
    Bridge,
    /// Programs at interfaces.
    Tcx,
}

/// Each part with the reason why it cannot be had; none if it can.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Can(pub BTreeMap<Part, Option<String>>);

impl Can {
    pub fn has(&self, part: Part) -> bool {
        self.0.get(&part).is_some_and(Option::is_none)
    }

    /// Ok if the kernel has it, else what lacks for this condition.
    pub fn require(&self, part: Part, condition: &str) -> Result<(), String> {
        match self.0.get(&part) {
            Some(None) => Ok(()),
            Some(Some(why)) => {
                Err(format!("`{condition}` needs the kernel's {}: {why}", part.name()))
            }
            None => Err(format!("`{condition}` needs the kernel's {}", part.name())),
        }
    }

    /// What it takes that frames pass a queue between coming in and being forwarded.
    pub fn require_way_round(&self) -> Result<(), String> {
        [Part::Ifb, Part::Clsact, Part::Mirred]
            .into_iter()
            .try_for_each(|part| self.require(part, "engine: kernel"))
    }
}

impl Part {
    pub fn name(self) -> &'static str {
        match self {
            Part::Netem => "netem",
            Part::Tbf => "tbf",
            Part::Codel => "codel",
            Part::Ifb => "ifb",
            Part::Clsact => "clsact",
            Part::Mirred => "u32 and mirred",
            Part::Bridge => "bridge",
            Part::Tcx => "programs (tcx)",
        }
    }
}
