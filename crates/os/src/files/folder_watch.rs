//! Waiting for entries of a directory (inotify(7)).

use std::io;
use std::path::Path;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

/// Block until `find` returns something, and return that. Call `find` at first and again whenever an entry
/// appears in `folder`. Fail if `folder` cannot be watched.
pub fn wait_in<T>(folder: &Path, mut find: impl FnMut() -> Option<T>) -> io::Result<T> {
    let watch = Inotify::init(InitFlags::IN_CLOEXEC)?;
    watch.add_watch(folder, AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO)?;
    loop {
        if let Some(found) = find() {
            return Ok(found);
        }
        watch.read_events()?;
    }
}
