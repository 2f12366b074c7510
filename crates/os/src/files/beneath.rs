//! Files below a folder, however links and `..` lead (openat2(2)).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2, readlinkat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::symlinkat;

/// Create a file below a folder, as [`Below::create`] does.
pub fn create(folder: &Path, path: &Path) -> io::Result<File> {
    Below::new(folder)?.create(path)
}

/// A folder from which no path leads out. Links are followed within it; if the folder is `/`, absolute ones, too.
/// A path that leads out fails with `EXDEV`.
pub struct Below {
    folder: OwnedFd,
    resolve: ResolveFlag,
}

/// A file, a folder or a link, opened.
pub enum Entry {
    /// A regular file, open for reading.
    File(File),
    /// An open folder.
    Folder(File),
    /// A symbolic link, and its target.
    Link(PathBuf),
    /// A device, a socket or a pipe.
    Other,
}

impl Below {
    /// Open the folder.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let whole = folder == Path::new("/");
        let resolve =
            if whole { ResolveFlag::RESOLVE_IN_ROOT } else { ResolveFlag::RESOLVE_BENEATH };
        Ok(Self {
            folder: nix::fcntl::open(
                folder,
                OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
                Mode::empty(),
            )?,
            resolve: resolve | ResolveFlag::RESOLVE_NO_MAGICLINKS,
        })
    }

    /// Create a file, or empty the one that is there, and make the folders that lead to it, with mode 0755.
    pub fn create(&self, path: &Path) -> io::Result<File> {
        self.make_folder(path.parent().unwrap_or(Path::new("")))?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_NONBLOCK;
        let file = File::from(self.open(path, flags)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(file)
    }

    /// Make a folder, and those that lead to it, with mode 0755; those that are there stay as they are.
    pub fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut parent = PathBuf::new();
        for part in path.components() {
            let next = parent.join(part);
            match self.open(&next, OFlag::O_PATH | OFlag::O_DIRECTORY) {
                Ok(_) => {}
                Err(Errno::ENOENT) => {
                    let Component::Normal(name) = part else { return Err(Errno::EINVAL.into()) };
                    let at = self.open(&parent, OFlag::O_PATH | OFlag::O_DIRECTORY)?;
                    mkdirat(&at, name, Mode::from_bits_truncate(0o755))?;
                }
                Err(error) => return Err(error.into()),
            }
            parent = next;
        }
        Ok(())
    }

    /// Make a symbolic link. Fail if the path exists.
    pub fn make_link(&self, target: &Path, path: &Path) -> io::Result<()> {
        let name = path.file_name().ok_or(Errno::EINVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        symlinkat(target, self.open(parent, OFlag::O_PATH | OFlag::O_DIRECTORY)?, name)?;
        Ok(())
    }

    /// Return true if a path leads to a folder.
    pub fn is_folder(&self, path: &Path) -> bool {
        self.open(path, OFlag::O_PATH | OFlag::O_DIRECTORY).is_ok()
    }

    /// Open what a path leads to, links followed.
    pub fn read(&self, path: &Path) -> io::Result<Entry> {
        let file = File::from(self.open(path, OFlag::O_PATH)?);
        let kind = file.metadata()?.file_type();
        if kind.is_dir() {
            return Ok(Entry::Folder(self.open(path, READ | OFlag::O_DIRECTORY)?.into()));
        }
        if !kind.is_file() {
            return Ok(Entry::Other);
        }
        let file = File::from(self.open(path, READ)?);
        // Something else may have taken its place since.
        Ok(if file.metadata()?.is_file() { Entry::File(file) } else { Entry::Other })
    }

    fn open(&self, path: &Path, flags: OFlag) -> nix::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let mode = if flags.contains(OFlag::O_CREAT) {
            Mode::from_bits_truncate(0o600)
        } else {
            Mode::empty()
        };
        let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC).mode(mode).resolve(self.resolve);
        openat2(self.folder.as_fd(), path, how)
    }
}

/// Open a regular file below a folder, to name it and not to read it (`O_PATH`). No link is followed.
pub fn named(folder: &File, path: &Path) -> io::Result<File> {
    let within = Below {
        folder: folder.as_fd().try_clone_to_owned()?,
        resolve: ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS,
    };
    let file = File::from(within.open(path, OFlag::O_PATH)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// A pipe that took a file's place is not waited for.
const READ: OFlag = OFlag::O_RDONLY.union(OFlag::O_NONBLOCK);

/// Open an entry of an open folder; a link is not followed.
pub fn entry(folder: &File, name: &OsStr) -> io::Result<Entry> {
    if let Ok(target) = readlinkat(folder, name) {
        return Ok(Entry::Link(target.into()));
    }
    let within = Below {
        folder: folder.as_fd().try_clone_to_owned()?,
        resolve: ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS,
    };
    within.read(Path::new(name))
}

#[cfg(test)]
mod tests {
    use super::{Below, Entry, create, entry};

    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    #[test]
    fn no_link_and_no_dots_lead_out() {
        let place = std::env::temp_dir().join(format!("delaylab-beneath-{}", std::process::id()));
        let inside = place.join("inside");
        fs::create_dir_all(&inside).unwrap();
        symlink(&place, inside.join("out")).unwrap();
        symlink("new", inside.join("near")).unwrap();
        create(&inside, Path::new("new/file")).unwrap().write_all(b"text").unwrap();
        assert_eq!(fs::read(inside.join("near/file")).unwrap(), b"text");
        create(&inside, Path::new("near/file")).unwrap();
        assert_eq!(fs::read(inside.join("new/file")).unwrap(), b"");
        for path in ["out/file", "../file", "new/../../file", "out"] {
            assert!(create(&inside, Path::new(path)).is_err(), "{path}");
        }
        assert!(!place.join("file").exists());
        let below = Below::new(&inside).unwrap();
        assert!(below.make_folder(Path::new("out/folder")).is_err());
        assert!(below.make_link(Path::new("x"), Path::new("out/link")).is_err());
        assert!(below.read(Path::new("out")).is_err());
        assert!(matches!(below.read(Path::new("near/file")).unwrap(), Entry::File(_)));
        let Entry::Folder(folder) = below.read(Path::new("")).unwrap() else { panic!("no folder") };
        assert!(
            matches!(entry(&folder, "out".as_ref()).unwrap(), Entry::Link(target) if target == place)
        );
        assert!(matches!(entry(&folder, "new".as_ref()).unwrap(), Entry::Folder(_)));
        fs::remove_dir_all(&place).unwrap();
    }
}
