//! A trial of the kernel in a network namespace of its own, which ends with its process.

use std::fs::File;
use std::io::{self, Read, Write};

use delaylab_os::files::descriptor;
use delaylab_os::process::{self, Side, namespace};
use delaylab_proto::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Return what `trial` returns in a new network namespace. Only for single-threaded processes.
pub(crate) fn in_new_network<T: Serialize + DeserializeOwned>(
    what: &str,
    trial: fn() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed = |error: io::Error| Failure::new(what, error);
    let (user, group) = namespace::user();
    let mut namespaces = process::Namespaces::CLONE_NEWNET;
    namespaces.set(process::Namespaces::CLONE_NEWUSER, user != 0);
    let (answer, told) = descriptor::pipe().map_err(failed)?;
    let pid = match process::clone(namespaces).map_err(failed)? {
        Side::Parent(pid) => pid,
        Side::Child => {
            let rooted = user == 0 || namespace::map_to_root(user, group).is_ok();
            let found = if rooted { trial().ok() } else { None };
            let bytes = found.and_then(|found| serde_json::to_vec(&found).ok());
            let written = bytes.is_some_and(|bytes| File::from(told).write_all(&bytes).is_ok());
            std::process::exit(i32::from(!written));
        }
    };
    drop(told);
    let mut bytes = Vec::new();
    let read = File::from(answer).read_to_end(&mut bytes);
    process::wait(pid);
    read.map_err(failed)?;
    serde_json::from_slice(&bytes)
        .map_err(|_| failed(io::Error::other("no new network namespace can be used")))
}
