//! The parts of the running kernel that links can use, found by trying.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A part of the kernel that links may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// netem: delay, jitter, loss, duplication, corruption, reordering.
    Netem,
    /// The token bucket filter, for rates.
    Tbf,
    /// CoDel, a queueing discipline that drops by delay.
    Codel,
    /// ifb, an interface that is only a queue.
    Ifb,
    /// clsact, the hook for filters on received frames.
    Clsact,
    /// A u32 filter that matches all frames, and the action mirred that redirects them.
    Mirred,
    /// The bridge, which joins the ports of a link.
    Bridge,
    /// Programs at interfaces (tcx).
    Tcx,
}

/// The parts of the kernel, each with the reason why it is unavailable, or `None` if it is available.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Can(pub BTreeMap<Part, Option<String>>);

impl Can {
    pub fn has(&self, part: Part) -> bool {
        self.0.get(&part).is_some_and(Option::is_none)
    }

    /// Check that the kernel has a part; the error says what is missing for this condition.
    pub fn require(&self, part: Part, condition: &str) -> Result<(), String> {
        match self.0.get(&part) {
            Some(None) => Ok(()),
            Some(Some(why)) => {
                Err(format!("`{condition}` needs the kernel's {}: {why}", part.name()))
            }
            None => Err(format!("`{condition}` needs the kernel's {}", part.name())),
        }
    }

    /// Check for the parts that lead frames through a queue between reception and forwarding.
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
