//! Requests about a node's files, and about programs that run as long as the node.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Write files, then start programs one after the other, each once the one before it is ready.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    /// The folders below which files may be written; anywhere if empty. Outside of them the file system is not
    /// the node's own.
    #[serde(default)]
    pub(crate) within: Vec<PathBuf>,
    #[serde(default)]
    pub(crate) files: Vec<NodeFile>,
    #[serde(default)]
    pub(crate) programs: Vec<Program>,
    /// True if programs that ignore routes are to get no netlink notification at all until `notify`.
    #[serde(default)]
    pub(crate) notify_later: bool,
    /// The folder that keeps the programs' state and output; if left out, one that the node must have for itself.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
}

/// A file of a node.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeFile {
    /// The absolute path. Missing folders are made.
    pub(crate) path: PathBuf,
    pub(crate) content: String,
    #[serde(default = "readable")]
    pub(crate) mode: u32,
    /// The names of the owner and its group in the node, `USER` or `USER:GROUP`; root if left out.
    #[serde(default)]
    pub(crate) owner: Option<String>,
}

fn readable() -> u32 {
    0o644
}

/// A program that runs as long as its node.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    /// The name, by which its state and its output are found.
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
    /// Variables in addition to the agent's own.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// The sign that it is ready. Left out, it is ready once it runs.
    #[serde(default)]
    pub(crate) ready: Option<ReadySign>,
    /// The time that it has to become ready, in ms.
    #[serde(default = "thirty_seconds")]
    pub(crate) within_ms: u64,
    /// The program whose every new start restarts this one, too, if it runs.
    #[serde(default)]
    pub(crate) needs: Option<String>,
    /// True for a program that ignores netlink notifications about routes. The kernel then sends it none, as far as this
    /// is permitted.
    #[serde(default)]
    pub(crate) ignores_routes: bool,
}

fn thirty_seconds() -> u64 {
    30_000
}

/// A sign that a program is ready.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReadySign {
    /// A socket of the node listens at this TCP port.
    Tcp(u16),
    /// A socket of the node is bound to this UDP port.
    Udp(u16),
    /// The program printed this text.
    Prints(String),
    /// This path exists.
    File(PathBuf),
    /// This command ends with exit code 0.
    Command(Vec<String>),
    /// The program itself ended, with exit code 0 (true).
    Ends(bool),
}

/// The programs that were started.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StartDone {
    /// The process id of each, by name.
    #[schemars(default)]
    pub(crate) pids: BTreeMap<String, i32>,
}

/// Report the programs that were started on the node.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Programs {
    /// The folder of `start`.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
}

/// The state of the node, and of each program in the order of their names.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProgramsDone {
    pub(crate) node: NodeState,
    #[schemars(default)]
    pub(crate) programs: Vec<ProgramState>,
}

/// The last thing that was done to a node as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NodeState {
    Running,
    /// Its programs are frozen.
    Stopped,
    /// Its programs were killed.
    Killed,
}

/// The state of a program. Times are in ns since the Unix epoch.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProgramState {
    pub(crate) name: String,
    pub(crate) pid: i32,
    #[schemars(range(min = 0))]
    pub(crate) began_ns: i64,
    /// True if it is to end by itself.
    #[schemars(default)]
    pub(crate) ends: bool,
    /// The time of its end; null while it runs.
    #[schemars(range(min = 0))]
    pub(crate) ended_ns: Option<i64>,
    /// The exit code; null if a signal ended it.
    pub(crate) exit: Option<i32>,
    /// The signal that ended it.
    pub(crate) killed: Option<i32>,
    /// True if it was frozen (`control`), and does not go on.
    #[serde(default)]
    #[schemars(default)]
    pub(crate) frozen: bool,
    /// The CPU time that its threads have had so far, in ns; 0 once it has ended.
    #[serde(default)]
    #[schemars(default)]
    pub(crate) ran_ns: u64,
    /// The time that its threads were ready to run and waited for a CPU, in ns (the run delay of
    /// /proc/PID/task/TID/schedstat).
    #[serde(default)]
    #[schemars(default)]
    pub(crate) waited_ns: u64,
    /// The state of its recording (`record`); null if it is not recorded.
    #[serde(default)]
    pub(crate) recording: Option<RecordingState>,
}

/// The state of a recording that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RecordingState {
    /// All calls so far are in the log.
    Whole,
    /// The recording has ended and the program goes on: the log was full, or a call was larger than any that is
    /// recorded.
    Cut,
}

/// Send the last output of a program in `stdout` frames.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Output {
    pub(crate) name: String,
    /// The folder of `start`.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
}

/// Have the kernel notify programs that were started with `notify_later` of changes to links and addresses.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Notify {
    /// The folder of `start`.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
}

/// End a program: by SIGTERM, and by SIGKILL if it takes too long. One that has ended is left as it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndProgram {
    pub(crate) name: String,
    /// The folder of `start`.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
    /// The time that it has to end by itself after SIGTERM, in ms.
    #[serde(default = "ten_seconds")]
    pub(crate) within_ms: u64,
}

/// The program that was to end.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EndProgramDone {
    pub(crate) program: ProgramState,
}

/// Freeze, continue, kill or start again programs that were started on the node, in the order of their start.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Control {
    #[serde(rename = "do")]
    pub(crate) deed: Deed,
    /// The programs; the node as a whole if empty.
    #[serde(default)]
    pub(crate) names: Vec<String>,
    /// The folder of `start`.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
}

/// A thing that is done to programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Deed {
    /// Stop all processes of the programs (SIGSTOP) until they are continued.
    Freeze,
    /// Let frozen programs go on (SIGCONT).
    Continue,
    /// Kill all processes of the programs (SIGKILL).
    Kill,
    /// Start those that have ended again, as they were first started.
    Start,
}

/// The programs after what was done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ControlDone {
    /// The time before the first program was affected, in ns since the Unix epoch.
    #[schemars(range(min = 0))]
    pub(crate) began_ns: i64,
    /// The time after the last one.
    #[schemars(range(min = 0))]
    pub(crate) done_ns: i64,
    #[schemars(default)]
    pub(crate) programs: Vec<ProgramState>,
}

/// Do things to programs at set times, in place of all that was ordered before. A process of the node waits for
/// the times, and outlives the session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schedule {
    /// The orders by time; without any, nothing more is done.
    pub(crate) orders: Vec<TimedDeed>,
    /// The folder of `start`.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
}

/// A thing to do at a time: to these programs, or to the node as a whole if there are none; or a command to run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimedDeed {
    /// The time, in ns since the Unix epoch by the node's clock.
    pub(crate) at_ns: i64,
    #[serde(default, rename = "do")]
    pub(crate) deed: Option<Deed>,
    #[serde(default)]
    pub(crate) names: Vec<String>,
    /// The command to run, if there is nothing to `do`.
    #[serde(default)]
    pub(crate) argv: Vec<String>,
}

/// Wait until all that was ordered by `schedule` is done, and report it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scheduled {
    /// The longest wait, in ms.
    #[serde(default)]
    pub(crate) within_ms: u64,
    /// The folder of `start`.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
}

/// The orders that were carried out so far, by time.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScheduledDone {
    #[schemars(default)]
    pub(crate) done: Vec<TimedDeedDone>,
    /// The number of those that are still to come.
    pub(crate) left: usize,
}

/// An order that was carried out between two times, in ns since the Unix epoch.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct TimedDeedDone {
    #[schemars(range(min = 0))]
    pub(crate) at_ns: i64,
    #[schemars(range(min = 0))]
    pub(crate) began_ns: i64,
    #[schemars(range(min = 0))]
    pub(crate) done_ns: i64,
    /// The reason why it failed; null if it did not.
    pub(crate) failed: Option<String>,
}

/// Restart a program with a library that records its calls, until `stop` or the program's end. The library comes in
/// `stdin` frames, which an empty one ends; the log goes out in `stdout` frames. The program then runs as before.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) name: String,
    /// The folder of `start`.
    #[serde(default)]
    pub(crate) folder: Option<PathBuf>,
}

/// The process that was recorded.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RecordDone {
    pub(crate) pid: i32,
    /// The time of its start, in ns since the Unix epoch.
    #[schemars(range(min = 0))]
    pub(crate) began_ns: i64,
    /// Its state, if it ended by itself.
    pub(crate) ended: Option<ProgramState>,
    /// True if the recording ended before the program did: the log was full, or a call was larger than any that is
    /// recorded.
    pub(crate) cut: bool,
    /// True if it ended so soon that it was started again without the library.
    pub(crate) again: bool,
}

fn ten_seconds() -> u64 {
    10_000
}
