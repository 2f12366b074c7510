//! The features of the kernel that links with conditions may need, and the errors for those that are missing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A feature of the kernel that links may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Feature {
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
    /// The queue without classes at whose filters frames leave for the one that a host's interface shares (HTB).
    Htb,
    /// The bridge, which joins the ports of a link.
    Bridge,
    /// Programs as filters of clsact, for loss.
    Bpf,
}

/// The features of the kernel, each with the reason why it is unavailable, or `None` if it is available.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Support(pub BTreeMap<Feature, Option<String>>);

impl Support {
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.0.get(&feature).is_some_and(Option::is_none)
    }

    /// Check that the kernel has a feature; the error says what is missing for this condition.
    pub(crate) fn require(&self, feature: Feature, condition: &str) -> Result<(), String> {
        match self.0.get(&feature) {
            Some(None) => Ok(()),
            Some(Some(why)) => {
                Err(format!("`{condition}` needs the kernel's {}: {why}", feature.name()))
            }
            None => Err(format!("`{condition}` needs the kernel's {}", feature.name())),
        }
    }

    /// Check for the features that lead frames through a queue between reception and forwarding.
    pub(crate) fn require_redirection(&self) -> Result<(), String> {
        [Feature::Ifb, Feature::Clsact, Feature::Mirred]
            .into_iter()
            .try_for_each(|feature| self.require(feature, "engine: kernel"))
    }
}

impl Feature {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Feature::Netem => "netem",
            Feature::Tbf => "tbf",
            Feature::Codel => "codel",
            Feature::Ifb => "ifb",
            Feature::Clsact => "clsact",
            Feature::Mirred => "u32 and mirred",
            Feature::Htb => "htb",
            Feature::Bridge => "bridge",
            Feature::Bpf => "programs (BPF)",
        }
    }
}
