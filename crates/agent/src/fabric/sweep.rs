//! Removal of the control groups and run directories of killed keepers. It spares labs that are up, and
//! everything that does not belong to a lab.

use std::path::Path;
use std::{fs, io};

use delaylab_os::files::folder::Folder;
use delaylab_proto::{Context, Failure};

use super::cgroups::removal;
use super::rundir::{Entry, RunDir, remove_empty_draft};
use crate::protocol::machine::{NotSwept, SweepDone};

/// Sweep the run directories directly below `directory`, and print the entries that are left as JSON.
pub(crate) fn print(directory: &Path) -> Result<(), Failure> {
    let left = sweep(directory)?;
    let text = serde_json::to_string(&left).context("say what a sweep left")?;
    println!("{text}");
    Ok(())
}

/// Sweep the run directories directly below `directory`. A failure for one of them does not stop the others.
pub(super) fn sweep(directory: &Path) -> Result<SweepDone, Failure> {
    let what = || format!("sweep {}", directory.display());
    let top = match Folder::open(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SweepDone::default()),
        top => top.with_context(what)?,
    };
    top.require_safe().with_context(what)?;
    let mut left = SweepDone::default();
    for entry in fs::read_dir(top.here()).with_context(what)? {
        let name = entry.with_context(what)?.file_name();
        let Some(name) = name.to_str() else {
            left.foreign.push(name.to_string_lossy().into_owned());
            continue;
        };
        match sweep_one(&top, name, directory) {
            Ok(true) => {}
            Ok(false) => left.foreign.push(name.to_owned()),
            Err(error) => {
                left.failed.push(NotSwept { name: name.to_owned(), why: error.to_string() });
            }
        }
    }
    Ok(left)
}

/// Sweep one entry; return false if it does not belong to a lab.
fn sweep_one(top: &Folder, name: &str, directory: &Path) -> io::Result<bool> {
    match RunDir::look(top, name, &directory.join(name))? {
        Entry::Up => Ok(true),
        Entry::Stale(stale) => {
            removal::remove(&stale.groups()?)?;
            stale.remove()?;
            Ok(true)
        }
        Entry::Gone => Ok(remove_empty_draft(top, name) || !top.at(name).exists()),
        Entry::Foreign => Ok(false),
    }
}
