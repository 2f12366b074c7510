//! Requests about the agent itself and its programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of an operation that returns nothing.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Nothing {}

/// Ask for the agent's version, process and clock.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hello {}

/// The agent and its kernel's clock.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HelloDone {
    pub version: &'static str,
    pub pid: u32,
    /// The clock of all stamps: `realtime@` and the first 8 digits of the boot id.
    #[schemars(regex(pattern = super::WORD))]
    pub clock: String,
    /// The cookie of its network namespace, by which BPF programs know it; 0 if the kernel gives none.
    #[schemars(default)]
    pub namespace: u64,
}

/// Read this kernel's clock.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clock {}

/// The time of this kernel's clock.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClockDone {
    /// The time in ns since the Unix epoch, read as late as possible.
    #[schemars(range(min = 0))]
    pub time_ns: i64,
}

/// Run a command, whose input and output travel in frames.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exec {
    pub argv: Vec<String>,
    /// Variables in addition to the agent's own.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub cwd: Option<String>,
    /// The terminal to run it on; pipes if left out.
    #[serde(default)]
    pub tty: Option<Terminal>,
    /// True if `stdin` frames are its input; else it has none.
    #[serde(default)]
    pub stdin: bool,
    /// The most bytes of output under way to the client; unlimited if left out.
    #[serde(default)]
    pub window: Option<u64>,
    /// True to start it only once the client says `go`.
    #[serde(default)]
    pub hold: bool,
}

/// A terminal: its size in characters, and its kind (TERM).
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Terminal {
    pub rows: u16,
    pub cols: u16,
    #[serde(default)]
    pub term: Option<String>,
}

/// The end of a command.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExecDone {
    /// The exit code; null for a command that was killed, or never started.
    pub exit: Option<i32>,
    /// All but the code, unless it never started.
    #[serde(flatten)]
    pub ran: Option<Ran>,
}

/// A command's run. Times are in ns, the first two since the Unix epoch.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Ran {
    /// The signal that killed it.
    pub killed: Option<i32>,
    /// The bytes that it and its children wrote to storage; null if the kernel does not say.
    pub written_bytes: Option<u64>,
    #[schemars(range(min = 0))]
    pub began_ns: i64,
    #[schemars(range(min = 0))]
    pub ended_ns: i64,
    /// The CPU time of the command and of its children that it waited for (getrusage(2)).
    pub user_ns: u64,
    pub system_ns: u64,
}

/// Do a fixed amount of arithmetic.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compute {
    pub units: u32,
    /// The shortest time between two rows of the table `progress`.
    #[serde(default = "five_milliseconds")]
    pub every_ns: i64,
    /// True to begin only once the client says `go`.
    #[serde(default)]
    pub hold: bool,
}

fn five_milliseconds() -> i64 {
    5_000_000
}

/// The end of arithmetic. Times are in ns, the first two since the Unix epoch.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ComputeDone {
    /// The units that were done.
    pub units: u32,
    #[schemars(range(min = 0))]
    pub began_ns: i64,
    #[schemars(range(min = 0))]
    pub ended_ns: i64,
    /// The CPU time used (getrusage(2)).
    pub user_ns: u64,
    pub system_ns: u64,
}
