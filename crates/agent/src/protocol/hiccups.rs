//! The request that finds out how quiet a machine is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Spin on each CPU that may be used until `stop`, and record for how long the spinning threads did not run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hiccups {
    /// The number of hiccups of each CPU, its longest ones, that the table `hiccups` has.
    #[serde(default = "twenty")]
    pub longest: u32,
}

fn twenty() -> u32 {
    20
}

/// The hiccups of all CPUs, and what else happened meanwhile. Times are in ns, the first two since the Unix epoch.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HiccupsDone {
    #[schemars(range(min = 0))]
    pub began_ns: i64,
    #[schemars(range(min = 0))]
    pub ended_ns: i64,
    /// The shortest hiccup of each size class. Shorter ones than the first are not counted.
    pub sizes_ns: Vec<u64>,
    pub cpus: Vec<CpuHiccups>,
    /// The number of times that the CPU quota of the agent's control group, or of one above it, held it up, and the time.
    pub throttled: u64,
    pub throttled_ns: u64,
    /// The most frequent interrupts.
    pub interrupts: Vec<InterruptCount>,
}

/// The hiccups of one CPU.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CpuHiccups {
    pub cpu: u32,
    /// The time for which the thread was watched, without the time in which the agent itself read what the machine
    /// did.
    pub watched_ns: u64,
    /// The part of it that hiccups took.
    pub lost_ns: u64,
    pub longest_ns: u64,
    /// The number of hiccups of each size class.
    pub counts: Vec<u64>,
    /// The interrupts on this CPU.
    pub interrupts: u64,
}

/// The number of interrupts of one source on all CPUs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InterruptCount {
    pub name: String,
    pub count: u64,
}
