//! Mounts of a lab's or a node's own mount namespace.

use std::io;

use nix::mount::{MsFlags, mount};

const NONE: Option<&str> = None;

/// Lets no mount event out of this mount namespace, nor in.
pub fn make_private() -> io::Result<()> {
    Ok(mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?)
}

/// Mounts a `/proc` that shows this process's pid namespace.
pub fn proc() -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    Ok(mount(Some("proc"), "/proc", Some("proc"), flags, NONE)?)
}
