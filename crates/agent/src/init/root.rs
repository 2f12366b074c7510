//! A user's disk as the root of a virtual machine: its programs and files, with the agent as init. Services
//! on the disk are not started.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use delaylab_os::files::{folder, mount};
use delaylab_proto::{Context, Failure};

use super::surroundings::FILE_SYSTEMS;

const HERE: &str = "/root-of-disk";
const SCRATCH: &str = "/var/tmp";
const KIND: &str = "ext4";
/// A file system that is mounted below another one and moves with it.
const INSIDE_ANOTHER: &str = "/dev/pts";

/// Make the file system of a disk, or of its first partition that has one, the root. Block until the disk
/// appears.
pub(super) fn enter(disk: &Path) -> Result<(), Failure> {
    let what = || format!("make {} the root", disk.display());
    await_disk(disk).with_context(what)?;
    fs::create_dir_all(HERE).with_context(what)?;
    let mounted =
        candidates(disk).iter().any(|device| mount::disk(device, KIND, Path::new(HERE)).is_ok());
    if !mounted {
        let why = format!("neither it nor a partition of it has a file system of type {KIND}");
        return Err(Failure::new(what(), why));
    }
    for (_, folder) in FILE_SYSTEMS {
        if folder == INSIDE_ANOTHER {
            continue;
        }
        let to = PathBuf::from(format!("{HERE}{folder}"));
        fs::create_dir_all(&to).with_context(what)?;
        mount::relocate(Path::new(folder), &to).with_context(what)?;
    }
    std::env::set_current_dir(HERE).with_context(what)?;
    mount::become_root().with_context(what)?;
    std::env::set_current_dir("/tmp").with_context(what)
}

/// Mount a disk as the folder for temporary files that outlast a boot. Block until the disk appears.
pub(super) fn mount_scratch(disk: &Path) -> Result<(), Failure> {
    let what = || format!("mount {} at {SCRATCH}", disk.display());
    await_disk(disk).with_context(what)?;
    fs::create_dir_all(SCRATCH).with_context(what)?;
    mount::disk(disk, KIND, Path::new(SCRATCH)).with_context(what)?;
    fs::set_permissions(SCRATCH, fs::Permissions::from_mode(0o1777)).with_context(what)
}

fn await_disk(disk: &Path) -> io::Result<()> {
    folder::wait_in(Path::new("/dev"), || disk.exists().then_some(()))
}

/// Return the disk itself, then its partitions in order.
fn candidates(disk: &Path) -> Vec<PathBuf> {
    let name = disk.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let inside = fs::read_dir(Path::new("/sys/block").join(&name)).into_iter().flatten().flatten();
    let mut partitions: Vec<PathBuf> = inside
        .filter(|entry| entry.path().join("partition").exists())
        .map(|entry| Path::new("/dev").join(entry.file_name()))
        .collect();
    partitions.sort();
    partitions.insert(0, disk.to_path_buf());
    partitions
}
