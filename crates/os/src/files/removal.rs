//! Removal of a directory with all that is below it, however deep and whoever made it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::folder::{Folder, path_of};

/// The prefix of the names that directories get before they are emptied.
const MOVED: &str = ".delaylab-removed-";
const DIRECTORY: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC).union(OFlag::O_RDONLY);
/// The mode of a directory whose owner may list it and change its entries.
const OPEN_TO_OWNER: u32 = 0o700;

/// Remove the directory `name` in `place` with all that is below it. Follow no link and enter no other file
/// system. Fail at the first entry that cannot be removed; the error names it.
///
/// A directory that is not empty is moved up to the top before it is emptied, so this needs three descriptors
/// and no stack for any depth: a path through the tree may be longer than a process can follow or hold open.
pub fn remove_all(place: &Folder, name: &OsStr) -> io::Result<()> {
    let top = open(place, name)?;
    let mut moved = 0;
    // A pass may miss what it moves to the top itself.
    while has_entries(&top)? {
        each_entry(&top, |entry| {
            if !remove_one(&top, entry).map_err(|error| named(entry, error))? {
                empty_into(&top, entry, &mut moved).map_err(|error| named(entry, error))?;
            }
            Ok(())
        })?;
    }
    Ok(unlinkat(place, name, UnlinkatFlags::RemoveDir)?)
}

/// Empty the directory `name` of `top`: remove its entries, and move those that are not empty to `top`. Then
/// remove it.
fn empty_into(top: &File, name: &OsStr, moved: &mut u64) -> io::Result<()> {
    let inner = open(top, name)?;
    each_entry(&inner, |entry| {
        if !remove_one(&inner, entry).map_err(|error| named(entry, error))? {
            move_up(&inner, entry, top, moved).map_err(|error| named(entry, error))?;
        }
        Ok(())
    })?;
    match unlinkat(top, name, UnlinkatFlags::RemoveDir) {
        // The listing missed entries that were moved meanwhile; the next pass finds them.
        Err(Errno::ENOTEMPTY | Errno::EEXIST) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Remove a file or an empty directory; return false for a directory that is not empty.
fn remove_one(inside: &File, name: &OsStr) -> io::Result<bool> {
    match unlinkat(inside, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => return Ok(true),
        // Linux says the former of a directory, other file systems the latter (unlink(2)).
        Err(Errno::EISDIR | Errno::EPERM) => {}
        Err(error) => return Err(error.into()),
    }
    match unlinkat(inside, name, UnlinkatFlags::RemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(true),
        Err(Errno::ENOTEMPTY | Errno::EEXIST) => Ok(false),
        // EPERM was the answer for the file that it is.
        Err(Errno::ENOTDIR) => Err(Errno::EPERM.into()),
        Err(error) => Err(error.into()),
    }
}

/// Move a directory to the top, under a name that nothing there has.
fn move_up(inside: &File, name: &OsStr, top: &File, moved: &mut u64) -> io::Result<()> {
    let mut opened = false;
    loop {
        let free = format!("{MOVED}{moved}");
        match renameat(inside, name, top, free.as_str()) {
            Ok(()) => return Ok(()),
            Err(Errno::ENOTEMPTY | Errno::EEXIST | Errno::ENOTDIR) => *moved += 1,
            // A directory that gets another parent is changed itself.
            Err(Errno::EACCES) if !opened => {
                open_to_owner(inside, name)?;
                opened = true;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Open a directory, also one whose owner took the right to do so from himself.
fn open(inside: impl AsFd, name: &OsStr) -> io::Result<File> {
    let inside = inside.as_fd();
    let open = || openat(inside, name, DIRECTORY, Mode::empty());
    match open() {
        Err(Errno::EACCES) => {
            open_to_owner(inside, name)?;
            Ok(open()?.into())
        }
        opened => {
            let opened: File = opened?.into();
            // Listing needs one right, and changing its entries another.
            let mode = opened.metadata()?.permissions().mode();
            if mode & OPEN_TO_OWNER != OPEN_TO_OWNER {
                opened.set_permissions(Permissions::from_mode(mode | OPEN_TO_OWNER))?;
            }
            Ok(opened)
        }
    }
}

fn open_to_owner(inside: impl AsFd, name: &OsStr) -> io::Result<()> {
    let about = openat(inside, name, DIRECTORY | OFlag::O_PATH, Mode::empty())?;
    fs::set_permissions(path_of(&about), Permissions::from_mode(OPEN_TO_OWNER))
}

fn has_entries(folder: &File) -> io::Result<bool> {
    Ok(fs::read_dir(path_of(folder))?.next().transpose()?.is_some())
}

/// Call `act` for each name in a directory, while it is read.
fn each_entry(folder: &File, mut act: impl FnMut(&OsStr) -> io::Result<()>) -> io::Result<()> {
    fs::read_dir(path_of(folder))?.try_for_each(|entry| act(&entry?.file_name()))
}

fn named(entry: &OsStr, error: io::Error) -> io::Error {
    let name = OsString::from(entry).to_string_lossy().into_owned();
    io::Error::new(error.kind(), format!("{name:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::path::{Path, PathBuf};
    use std::thread;

    use nix::sys::stat::mkdirat;

    /// The stack of the thread that removes: a frame for each level of the tree would overflow it.
    const LITTLE_STACK: usize = 128 << 10;

    /// Run `act` in a directory of its own with a directory `gone` in it.
    fn within(name: &str, act: impl FnOnce(&Path)) {
        let place = std::env::temp_dir().join(format!("dl-removal-{name}-{}", std::process::id()));
        fs::create_dir(&place).unwrap();
        fs::create_dir(place.join("gone")).unwrap();
        act(&place);
        fs::remove_dir_all(&place).unwrap();
    }

    fn remove(place: &Path) -> io::Result<()> {
        remove_all(&Folder::open(place).unwrap(), OsStr::new("gone"))
    }

    /// Make a chain of directories below `from`, deeper than a path can say.
    fn dig(from: &Path, depth: usize) {
        let mut at = File::open(from).unwrap();
        for level in 0..depth {
            mkdirat(&at, "d", Mode::S_IRWXU).unwrap();
            if level % 1000 == 0 {
                fs::write(path_of(&at).join("file"), "").unwrap();
            }
            at = open(&at, OsStr::new("d")).unwrap();
        }
    }

    #[test]
    fn a_deep_tree_needs_no_stack() {
        within("deep", |place| {
            dig(&place.join("gone"), 3000);
            let place = place.to_owned();
            let removing = {
                let place = place.clone();
                let thread = thread::Builder::new().stack_size(LITTLE_STACK);
                thread.spawn(move || remove(&place)).unwrap()
            };
            removing.join().unwrap().unwrap();
            assert!(!place.join("gone").exists());
        });
    }

    #[test]
    fn nothing_that_stands_in_the_way_stops_it() {
        within("odd", |place| {
            let gone = place.join("gone");
            let inner = gone.join("a/b/c");
            fs::create_dir_all(&inner).unwrap();
            fs::write(inner.join("file"), "").unwrap();
            // Names that directories are moved to.
            fs::write(gone.join(format!("{MOVED}0")), "").unwrap();
            fs::create_dir_all(gone.join(format!("{MOVED}1/full"))).unwrap();
            for path in [inner, gone.join("a/b"), gone.join("a"), gone] {
                fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
            }
            remove(place).unwrap();
            assert!(!place.join("gone").exists());
        });
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        within("links", |place| {
            let kept: PathBuf = place.join("kept");
            fs::create_dir_all(kept.join("inner")).unwrap();
            std::os::unix::fs::symlink(&kept, place.join("gone/link")).unwrap();
            fs::create_dir(place.join("gone/full")).unwrap();
            std::os::unix::fs::symlink(&kept, place.join("gone/full/link")).unwrap();
            remove(place).unwrap();
            assert!(kept.join("inner").exists());
            std::os::unix::fs::symlink(&kept, place.join("gone")).unwrap();
            assert!(remove(place).is_err());
            assert!(kept.join("inner").exists());
        });
    }
}
