//! The capabilities available to a node's programs (capabilities(7)).

use caps::{CapSet, Capability, CapsHashSet};
use delaylab_proto::{Context, Failure};

/// Limit the programs that this process and its children start from now on to the capabilities with these
/// names (`net_admin`, …). This process keeps its own, which measuring needs.
pub fn limit(names: &[String]) -> Result<(), Failure> {
    let kept = names.iter().map(|name| find(name)).collect::<Result<CapsHashSet, _>>()?;
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

fn find(name: &str) -> Result<Capability, Failure> {
    let what = "limit the capabilities of a node";
    let unknown = |_| Failure::new(what, format!("there is no capability `{name}`"));
    format!("CAP_{}", name.to_uppercase()).parse().map_err(unknown)
}
