//! A directory held by file descriptor: it stays reachable even if its path leads elsewhere by now.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::stat::Mode;

use super::poll::{self, Interest};

/// The mode bits that let other users write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The mode bit that lets only an entry's owner rename or remove the entry (inode(7)).
const STICKY: u32 = 0o1000;

/// An open directory.
#[derive(Debug)]
pub struct Folder {
    file: File,
}

impl Folder {
    /// Open a directory. Fail if its path ends in a symbolic link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW);
        Ok(Self { file: options.open(path)? })
    }

    /// Open a directory in this one. Fail if the entry is a symbolic link.
    pub fn enter(&self, name: &str) -> io::Result<Self> {
        Self::open(&self.at(name))
    }

    /// Return another handle to the same directory (dup(2)).
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()? })
    }

    /// Create a directory in this one with mode 0700, and open it. Fail if the entry exists.
    pub fn make(&self, name: &str) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(self.at(name))?;
        self.enter(name)
    }

    /// Return a path to an entry that begins at the open directory, for this process only.
    pub fn at(&self, name: &str) -> PathBuf {
        self.here().join(name)
    }

    /// Return a path to the open directory itself, for this process only.
    pub fn here(&self) -> PathBuf {
        path_of(&self.file)
    }

    /// Create a regular file in this directory, with mode 0600, to read and to append to. Fail if the entry
    /// exists.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        self.file(name, true)
    }

    /// Open a regular file of this user in this directory, to read and to append to. Refuse links, devices,
    /// pipes and files of other users; never block on them.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        self.file(name, false)
    }

    /// Create the entry, or open it, and refuse it unless it is a regular file of this user.
    // Public until the agent is moved.
    #[doc(hidden)]
    pub fn file(&self, name: &str, create: bool) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(create).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(self.at(name))?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other(format!("{name} is not a regular file")));
        }
        require_owner(about.uid(), name)?;
        Ok(file)
    }

    /// Fail with `PermissionDenied` unless the directory belongs to this user and no other user may write to
    /// it.
    pub fn require_private(&self) -> io::Result<()> {
        let about = self.file.metadata()?;
        require_owner(about.uid(), "it")?;
        if about.mode() & WRITABLE_BY_OTHERS == 0 {
            return Ok(());
        }
        Err(denied(format!("other users may write to it (mode {:o})", about.mode() & 0o7777)))
    }

    /// Fail with `PermissionDenied` unless only this user and root can rename or remove the entries that this
    /// user creates in the directory.
    pub fn require_safe(&self) -> io::Result<()> {
        let about = self.file.metadata()?;
        if about.uid() != 0 {
            require_owner(about.uid(), "it")?;
        }
        if about.mode() & WRITABLE_BY_OTHERS == 0 || about.mode() & STICKY != 0 {
            return Ok(());
        }
        Err(denied(format!("other users may write to it (mode {:o})", about.mode() & 0o7777)))
    }

    /// Run `act` with this directory as the current directory and return its result. The current directory is
    /// `/` afterwards if the process may not enter the one before again. Only for single-threaded processes.
    pub fn inside<T>(&self, act: impl FnOnce() -> T) -> io::Result<T> {
        // A user may be in a directory that it may not enter again, such as another user's home.
        let before = match Self::open_current() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            before => Some(before?),
        };
        nix::unistd::fchdir(&self.file)?;
        let result = act();
        match before {
            Some(before) => nix::unistd::fchdir(&before)?,
            None => nix::unistd::chdir("/")?,
        }
        Ok(result)
    }

    fn open_current() -> io::Result<OwnedFd> {
        let flags = nix::fcntl::OFlag::O_PATH | nix::fcntl::OFlag::O_CLOEXEC;
        Ok(nix::fcntl::open(".", flags, Mode::empty())?)
    }
}

/// Return the bytes that this user may still write to the file system of a path (statvfs(3)).
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let about = nix::sys::statvfs::statvfs(path)?;
    Ok(about.blocks_available() * about.fragment_size())
}

/// Write all of the file system of a path to its disk (syncfs(2)).
pub fn write_back(path: &Path) -> io::Result<()> {
    Ok(nix::unistd::syncfs(File::open(path)?)?)
}

/// Return a path to an open file, for this process only.
pub(crate) fn path_of(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn require_owner(owner: u32, what: &str) -> io::Result<()> {
    if owner == nix::unistd::geteuid().as_raw() {
        return Ok(());
    }
    Err(denied(format!("{what} belongs to user {owner}")))
}

fn denied(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Block until `find` returns something, and return that. Call `find` at first and again whenever an entry
/// appears in `folder`. Fail if `folder` cannot be watched.
pub fn wait_in<T>(folder: &Path, find: impl FnMut() -> Option<T>) -> io::Result<T> {
    wait_in_until(folder, None, find)?.ok_or_else(|| io::ErrorKind::TimedOut.into())
}

/// Wait as [`wait_in`], at most until `deadline`; return `None` if it passes.
pub fn wait_in_until<T>(
    folder: &Path,
    deadline: Option<Instant>,
    mut find: impl FnMut() -> Option<T>,
) -> io::Result<Option<T>> {
    let watch = Inotify::init(InitFlags::IN_CLOEXEC)?;
    watch.add_watch(folder, AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO)?;
    loop {
        if let Some(found) = find() {
            return Ok(Some(found));
        }
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(None);
        }
        // After a signal there is nothing to read, and the time is not over.
        if poll::wait(&[(watch.as_fd(), Interest::Read)], left)?[0] {
            watch.read_events()?;
        }
    }
}
