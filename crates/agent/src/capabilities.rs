//! The capabilities available to a node's programs (capabilities(7)).

use std::str::FromStr;

use caps::{CapSet, Capability, CapsHashSet};
use delaylab_proto::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

/// A capability that programs keep. It is written by its name in lower case: `net_admin`.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub(crate) struct Kept(#[schemars(with = "String")] Capability);

impl FromStr for Kept {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = format!("CAP_{}", name.to_uppercase()).parse();
        found.map(Self).map_err(|_| format!("there is no capability `{name}`"))
    }
}

impl TryFrom<String> for Kept {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

/// Limit the programs that this process and its children start from now on to these capabilities. This
/// process keeps its own, which measuring needs.
pub(crate) fn limit(kept: &[Kept]) -> Result<(), Failure> {
    let kept: CapsHashSet = kept.iter().map(|one| one.0).collect();
    let own = caps::read(None, CapSet::Bounding).context("limit the capabilities of a node")?;
    for capability in own.difference(&kept) {
        caps::drop(None, CapSet::Bounding, *capability)
            .context("limit the capabilities of a node")?;
    }
    // A program of root gets all capabilities in the bounding set. These two sets would be other ways to get
    // some.
    caps::clear(None, CapSet::Ambient).context("limit the capabilities of a node")?;
    caps::clear(None, CapSet::Inheritable).context("limit the capabilities of a node")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_found_by_its_name() {
        assert_eq!("net_admin".parse::<Kept>().unwrap().0, Capability::CAP_NET_ADMIN);
        let refused = "net_king".parse::<Kept>().err();
        assert_eq!(refused.as_deref(), Some("there is no capability `net_king`"));
    }
}
