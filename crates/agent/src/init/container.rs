//! The first process of a container. It gets its sessions from its monitor, by the one connection that it
//! opens: nothing that the container writes decides where a session goes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use delaylab_os::files::descriptor::{self, Received};
use delaylab_os::files::folder;
use delaylab_os::process;
use delaylab_proto::{Context, Failure};

use crate::capabilities::{self, KeptCapability};
use crate::session::{Serve, listen};

/// The folder of the run directory that the container sees, read-only, within its monitor's folder.
pub(crate) const FOLDER: &str = "leash";
/// The socket in that folder on which the monitor waits for the container. The container ends with this
/// connection.
pub(crate) const LEASH: &str = "leash.sock";

/// Serve the sessions that the monitor passes on, until the connection to it ends.
pub(crate) fn live(
    folder: &Path,
    capabilities: &[KeptCapability],
    serve: Serve,
) -> Result<(), Failure> {
    let what = || format!("serve in {}", folder.display());
    // Orphaned processes in the container become this process's children.
    process::reap_by_kernel().with_context(what)?;
    capabilities::limit(capabilities)?;
    if std::env::var_os("PATH").is_none() {
        process::set_environment(&[("PATH", super::SEARCH_PATH)]);
    }
    let leash = folder::wait_in(folder, || UnixStream::connect(folder.join(LEASH)).ok());
    let leash = OwnedFd::from(leash.with_context(what)?);
    let network = File::open("/proc/self/ns/net").with_context(what)?;
    // This also tells the monitor that sessions are served from now on.
    descriptor::send_descriptor(leash.as_fd(), network.as_fd()).with_context(what)?;
    loop {
        match descriptor::receive_descriptor(leash.as_fd()) {
            Ok(Received::Descriptor(session)) => drop(listen::start(session, None, serve)),
            // A byte without its descriptor; the lost session's connection is closed.
            Ok(Received::Nothing) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(Received::End) | Err(_) => return Ok(()),
        }
    }
}
