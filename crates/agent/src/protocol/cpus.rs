//! The request that records what each CPU does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Record what each CPU does until `stop`, and the packets of probes that the kernel drops.
///
/// Each order `window` is answered by the tables `cpus`, `tasks` and `retransmissions`, each order `drops` by the table
/// `drops`; then comes an event. That table is empty on kernels that give no reasons (before Linux 5.17).
/// `retransmissions` has the TCP segments that the kernel sent again.
///
/// This needs `CAP_BPF` and `CAP_PERFMON`, and a kernel that describes its types (BTF).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cpus {
    /// The most records that are kept of each CPU; when there are more, the oldest are dropped.
    #[serde(default = "three_million")]
    pub keep: u32,
}

fn three_million() -> u32 {
    3_000_000
}

/// The end of a recording.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CpusDone {
    /// The time by which `CLOCK_REALTIME` was set during the recording, in ns: earlier times of the tables are off by it.
    pub clock_set_ns: i64,
    pub cpus: Vec<RecordedCpu>,
    /// The switches of all CPUs during the recording, as the kernel counts them.
    pub switches: u64,
}

/// Counts of the records of one CPU.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RecordedCpu {
    pub cpu: u32,
    /// Records in all.
    pub records: u64,
    /// Switches between two tasks.
    pub switches: u64,
    /// Switches that the programs did not see: those that the CPU counted beyond the recorded ones.
    pub unseen: u64,
    /// Records that newer ones had overwritten before they were copied.
    pub overwritten: u64,
    /// Records that were dropped when there were more than are kept.
    pub dropped: u64,
}

/// The times of an order `window` or `drops`, in ns since the Unix epoch; the first and the last are part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Window {
    pub from_ns: i64,
    pub to_ns: i64,
}
