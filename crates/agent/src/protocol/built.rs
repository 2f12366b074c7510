//! The answer to the request to build a lab.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// A lab that was built: its keeper and its agents.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BuildDone<'a> {
    /// The keeper's pid, and its start time in clock ticks.
    pub pid: u32,
    pub start: u64,
    #[schemars(default)]
    pub agents: BTreeMap<String, BuiltAgent<'a>>,
    /// The settings that the machine does not allow, each with the reason.
    #[schemars(default)]
    pub warnings: &'a [String],
    #[schemars(default)]
    pub elapsed_ns: u64,
}

/// An agent of a lab that was built.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BuiltAgent<'a> {
    /// The pid as seen from outside of the lab.
    pub pid: i32,
    /// The start time in clock ticks.
    pub start: u64,
    #[schemars(default)]
    pub socket: PathBuf,
    #[schemars(extend("default" = {}))]
    pub cgroups: &'a BTreeMap<String, PathBuf>,
}
