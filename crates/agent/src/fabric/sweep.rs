//! Clears what killed keepers left: control groups and run directories, never those of a lab that is up.

use std::fs;
use std::io;
use std::path::Path;

use delaylab_proto::Failure;

use super::cgroups;
use super::rundir::RunDir;

/// Sweeps the run directories directly below `directory`.
pub fn sweep(directory: &Path) -> Result<(), Failure> {
    let what = |path: &Path| format!("sweep {}", path.display());
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| Failure::new(what(directory), error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| Failure::new(what(directory), error))?.path();
        let Some(stale) = RunDir::take_over(&path) else {
            // Of a keeper killed before it had its lock; refused if there is anything in it.
            let _ = fs::remove_dir(&path);
            continue;
        };
        cgroups::remove(&stale.folders()).map_err(|error| Failure::new(what(&path), error))?;
        stale.remove().map_err(|error| Failure::new(what(&path), error))?;
    }
    Ok(())
}
