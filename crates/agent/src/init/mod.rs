//! `delaylab-agent init`: the first process of a container or of a virtual machine.

pub(crate) mod container;
mod machine;

use std::path::PathBuf;

use clap::Args;
use delaylab_proto::Failure;

use crate::capabilities::KeptCapability;
use crate::session::Serve;
pub(crate) use machine::is_alone;

/// The folders of programs where nothing names others: in virtual machines, and in containers whose image says
/// nothing, as LXC's.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The two connections by which the agent is reached from outside, of which one is given.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Reached {
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
pub(crate) struct Init {
    #[command(flatten)]
    reached: Reached,
    /// In a container: the capabilities that its programs can have.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    capabilities: Vec<KeptCapability>,
    /// In a virtual machine: kernel modules to load first, with what they need.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    modules: Vec<String>,
    /// In a virtual machine: a program to run before any session is served.
    #[arg(long, value_name = "PROGRAM")]
    before: Option<PathBuf>,
    /// In a virtual machine: a disk whose file system, or that of its first partition, becomes the root.
    #[arg(long, value_name = "DEVICE")]
    root: Option<PathBuf>,
    /// In a virtual machine: a disk with a file system to mount at /var/tmp.
    #[arg(long, value_name = "DEVICE")]
    scratch: Option<PathBuf>,
    /// Arguments that User-Mode Linux appends to its command line.
    #[arg(hide = true)]
    _added: Vec<String>,
}

/// Run until the guest ends; `serve` serves its sessions.
pub(crate) fn live(init: &Init, serve: Serve) -> Result<(), Failure> {
    match (&init.reached.folder, &init.reached.stream) {
        (Some(folder), _) => container::live(folder, &init.capabilities, serve),
        (None, Some(stream)) => {
            let start = machine::Start {
                modules: &init.modules,
                root: init.root.as_deref(),
                scratch: init.scratch.as_deref(),
                before: init.before.as_deref(),
            };
            machine::live(stream, &start, serve)
        }
        (None, None) => Err(Failure::new("start", "neither --folder nor --stream is given")),
    }
}
