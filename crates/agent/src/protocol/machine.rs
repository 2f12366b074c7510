//! Requests about the machine that an agent runs on and about the labs on it, from a client on another machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The first message of a session with a machine: what the session is with.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Open {
    /// A new agent outside of all labs, in the network of the machine.
    Session,
    /// The keeper of a new lab, which waits for the request to build it.
    Keeper,
    /// An agent of a running lab.
    Agent { lab: String, agent: String },
}

/// Describe this machine.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DescribeMachine {
    /// The programs to look for.
    #[serde(default)]
    pub programs: Vec<String>,
    /// The devices to open, by their paths.
    #[serde(default)]
    pub devices: Vec<String>,
}

/// A machine, and the rights of this user there.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DescribeMachineDone {
    /// The boot and the network namespace: two machines with the same are one.
    pub identity: String,
    /// `/etc/machine-id`; empty if there is none.
    #[schemars(default)]
    pub machine_id: String,
    /// The public keys of its sshd in `/etc/ssh`, sorted.
    #[schemars(default)]
    pub host_keys: Vec<String>,
    pub hostname: String,
    /// The kernel's name and release.
    pub kernel: String,
    pub user: u32,
    /// The bounding set of capabilities, as a mask in hexadecimal (proc_pid_status(5), `CapBnd`).
    pub capabilities: String,
    /// The programs that are not there, and the devices that cannot be read and written.
    pub lacking: Vec<String>,
    /// The text of `/proc/cpuinfo` about the first CPU.
    pub cpu: String,
    /// The CPUs that run.
    pub cpus: String,
    pub memory_bytes: u64,
    /// The bytes that new programs can use without swapping.
    pub available_bytes: u64,
    /// The most neighbours that the kernel keeps for all networks.
    pub most_neighbours: Option<u64>,
    /// The directory of this user's labs.
    pub run_directory: PathBuf,
    /// The address and port of the client, then those of this machine, as sshd states them.
    pub connection: String,
    /// The free bytes of the file system of the run directory.
    pub free_bytes: u64,
}

/// Say where files of the user's machine are stored here, and which of them are missing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stored {
    /// Their names, `FOLDER/NAME`.
    pub names: Vec<String>,
}

/// The folder of stored files, and the names of those that are missing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoredDone {
    pub folder: PathBuf,
    pub missing: Vec<String>,
}

/// List this user's labs that are up on this machine.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Labs {}

/// The labs that are up, by name: the contents of `lab.json` of each.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LabsDone {
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub labs: BTreeMap<String, Box<RawValue>>,
}

/// List the entries of a running lab's run directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabFiles {
    pub lab: String,
}

/// The entries of a run directory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LabFilesDone {
    pub names: Vec<String>,
}

/// End a lab of this user, and wait until it is gone. A lab that is not up is no error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndLab {
    pub lab: String,
}

/// Remove what killed keepers left on this machine. Labs that are up are not touched.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sweep {}

/// The entries that a sweep left.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct SweepDone {
    /// Names of entries that do not belong to a lab.
    pub foreign: Vec<String>,
    /// Entries that belong to a lab, or may, and could not be removed or examined.
    pub failed: Vec<NotSwept>,
}

/// An entry that could not be removed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NotSwept {
    pub name: String,
    pub why: String,
}

/// Say when processes of this machine were started, and find children by their pid in a lab.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Processes {
    #[serde(default)]
    pub pids: Vec<i32>,
    #[serde(default)]
    pub children: Vec<Child>,
}

/// A child of the process `parent` that its own PID namespace numbers `inside`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Child {
    pub parent: i32,
    pub inside: i32,
}

/// The start of each process in clock ticks since boot, null for one that has ended; the pid of each child.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProcessesDone {
    pub started: Vec<Option<u64>>,
    pub children: Vec<Option<i32>>,
}
