//! The capabilities available to programs (capabilities(7)).

use std::io;

pub use caps::Capability;
use caps::errors::CapsError;
use caps::{CapSet, CapsHashSet};

/// Limit the programs that this process and its children start from now on to these capabilities. This
/// process keeps its own, which measuring needs.
pub fn limit(kept: &[Capability]) -> io::Result<()> {
    limited(kept.iter().copied().collect()).map_err(io::Error::other)
}

fn limited(kept: CapsHashSet) -> Result<(), CapsError> {
    for capability in caps::read(None, CapSet::Bounding)?.difference(&kept) {
        caps::drop(None, CapSet::Bounding, *capability)?;
    }
    // A program of root gets all capabilities in the bounding set. These two sets would be other ways to get
    // some.
    caps::clear(None, CapSet::Ambient)?;
    caps::clear(None, CapSet::Inheritable)
}
