//! The first process of a container. The folder that it shares with its monitor holds two sockets:
//! one where it serves sessions, and the monitor's end of its leash.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use delaylab_os::{boot, pipe, process};
use delaylab_proto::Failure;

use crate::listen;

/// Where the agent inside listens.
pub const SESSIONS: &str = "agent.sock";
/// Where the monitor waits for it. When this connection ends, so does the container.
pub const LEASH: &str = "leash.sock";

/// Serves sessions as long as the leash holds.
pub fn live(folder: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(format!("serve in {}", folder.display()), error);
    // What others leave behind here becomes this process's children.
    process::reap_by_kernel().map_err(failed)?;
    let listener = UnixListener::bind(folder.join(SESSIONS)).map_err(failed)?;
    let leash = boot::wait_in(folder, || UnixStream::connect(folder.join(LEASH)).ok());
    let leash = OwnedFd::from(leash.map_err(failed)?);
    let network = File::open("/proc/self/ns/net").map_err(failed)?;
    // Says at the same time that sessions are served from now on.
    pipe::send_descriptor(leash.as_fd(), network.as_fd()).map_err(failed)?;
    listen::accept(&listener, "the container", Some(&leash))
}
