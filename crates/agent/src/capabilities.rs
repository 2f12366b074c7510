//! The capabilities available to a node's programs (capabilities(7)).

use std::str::FromStr;

use delaylab_os::process::rights::capabilities::{self, Capability};
use delaylab_proto::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

/// A capability that programs keep. It is written by its name in lower case: `net_admin`.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub(crate) struct KeptCapability(#[schemars(with = "String")] Capability);

impl FromStr for KeptCapability {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = format!("CAP_{}", name.to_uppercase()).parse();
        found.map(Self).map_err(|_| format!("there is no capability `{name}`"))
    }
}

impl TryFrom<String> for KeptCapability {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

/// Limit the programs that this process and its children start from now on to these capabilities.
pub(crate) fn limit(kept: &[KeptCapability]) -> Result<(), Failure> {
    let kept: Vec<_> = kept.iter().map(|one| one.0).collect();
    capabilities::limit(&kept).context("limit the capabilities of a node")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_found_by_its_name() {
        assert_eq!("net_admin".parse::<KeptCapability>().unwrap().0, Capability::CAP_NET_ADMIN);
        let refused = "net_king".parse::<KeptCapability>().err();
        assert_eq!(refused.as_deref(), Some("there is no capability `net_king`"));
    }
}
