//! Folders of this machine of which a node has a copy of its own.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use delaylab_os::files::mount;
use delaylab_proto::{Context, Failure};

use super::names;

/// The most bytes that the programs of a node can write to its copies.
const MOST_BYTES: u64 = 256 << 20;

/// Put a layer over each of the folders, in this process's mount namespace: what is written there stays in memory
/// and is seen in this namespace alone. Links and folders that are not there are left out. `place` is a folder that
/// nothing in this namespace needs.
pub(crate) fn make(folders: &[PathBuf], place: &Path) -> Result<(), Failure> {
    if folders.is_empty() {
        return Ok(());
    }
    let names = fs::read(names::SYSTEM);
    mount::memory(place, MOST_BYTES).with_context(|| format!("use {}", place.display()))?;
    // By relative paths: a layer may cover the place itself.
    std::env::set_current_dir(place).context("enter the copies")?;
    for (number, folder) in folders.iter().enumerate() {
        let what = || format!("copy {}", folder.display());
        let Ok(about) = fs::symlink_metadata(folder) else { continue };
        if !about.is_dir() {
            continue;
        }
        let (upper, work) = (format!("upper{number}"), format!("work{number}"));
        for made in [&upper, &work] {
            fs::create_dir(made).with_context(what)?;
        }
        // The layer's folder shows the owner and mode of the upper one.
        match chown(&upper, Some(about.uid()), Some(about.gid())) {
            // A user namespace without that owner: the lab's root, who is this user, takes its place.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            done => done.with_context(what)?,
        }
        fs::set_permissions(&upper, Permissions::from_mode(about.mode())).with_context(what)?;
        match mount::layer(folder, &upper, &work) {
            // A user namespace cannot layer over a folder that has mounts of the machine below it
            // (has_locked_children, fs/namespace.c): the node has an empty one.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                mount::bind(Path::new(&upper), folder).with_context(what)?;
            }
            done => done.with_context(what)?,
        }
    }
    // The lab's names were shown above the folder that is now covered.
    if let Ok(names) = names {
        let shown = fs::write("hosts", names)
            // The programs of a node may run as any user.
            .and_then(|()| fs::set_permissions("hosts", Permissions::from_mode(0o644)))
            .and_then(|()| mount::bind(Path::new("hosts"), Path::new(names::SYSTEM)));
        shown.context("keep the lab's names")?;
    }
    std::env::set_current_dir("/").context("leave the copies")
}
