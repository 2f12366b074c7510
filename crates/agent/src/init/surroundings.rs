//! The surroundings that programs expect in a virtual machine: file systems, links and environment.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;

use delaylab_os::files::mount;
use delaylab_os::process;
use delaylab_proto::{Context, Failure};

use super::alone;

/// The kernel's file systems and their folders, in the order of mounting.
pub(super) const FILE_SYSTEMS: [(&str, &str); 6] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
];

/// The symbolic links that udev creates elsewhere.
const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// Mount file systems, create links and set the environment that every program expects.
pub(super) fn prepare() -> Result<(), Failure> {
    for (kind, folder) in FILE_SYSTEMS {
        let what = || format!("mount {folder}");
        fs::create_dir_all(folder).with_context(what)?;
        mount::kernel_file_system(kind, folder).with_context(what)?;
    }
    for (link, target) in LINKS {
        match symlink(target, link) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => result.with_context(|| format!("make {link}"))?,
        }
    }
    process::set_environment(&[
        ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", "/"),
        (alone::VARIABLE, "1"),
    ]);
    // Commands start in the current directory of init.
    std::env::set_current_dir("/tmp").context("enter /tmp")
}
