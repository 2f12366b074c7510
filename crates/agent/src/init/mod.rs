//! `delaylab-agent init`: the first process of a container or of a virtual machine.

pub mod container;
mod machine;
mod modules;
mod root;

use std::path::PathBuf;

use clap::Args;
use delaylab_proto::Failure;

/// The two ways to reach the agent from outside, of which one is given.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct Reached {
    /// In a container: connect to the socket in this folder, serve the sessions that come by it, and end with
    /// it.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// In a virtual machine: serve all sessions on this device; `virtio:NAME` for a virtio port.
    #[arg(long, value_name = "DEVICE")]
    stream: Option<String>,
}

/// The first process of a container or of a virtual machine.
#[derive(Args)]
pub struct Init {
    #[command(flatten)]
    reached: Reached,
    /// In a container: the capabilities that its programs can have.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    capabilities: Vec<String>,
    /// In a virtual machine: kernel modules to load first, with what they need.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    modules: Vec<String>,
    /// In a virtual machine: a program to run before any session is served.
    #[arg(long, value_name = "PROGRAM")]
    before: Option<PathBuf>,
    /// In a virtual machine: a disk whose file system, or that of its first partition, becomes the root.
    #[arg(long, value_name = "DEVICE")]
    root: Option<PathBuf>,
    /// Arguments that User-Mode Linux appends to its command line.
    #[arg(hide = true)]
    _added: Vec<String>,
}

/// The environment variable set for all processes that a virtual machine's init starts.
const ALONE: &str = "DELAYLAB_MACHINE";

/// Return true if this process runs in a virtual machine whose init is the agent.
pub fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

/// Run until the guest ends.
pub fn live(init: &Init) -> Result<(), Failure> {
    match (&init.reached.folder, &init.reached.stream) {
        (Some(folder), _) => container::live(folder, &init.capabilities),
        (None, Some(stream)) => {
            let (before, root) = (init.before.as_deref(), init.root.as_deref());
            machine::live(stream, &machine::Start { modules: &init.modules, before, root })
        }
        (None, None) => Err(Failure::new("start", "neither --folder nor --stream is given")),
    }
}
