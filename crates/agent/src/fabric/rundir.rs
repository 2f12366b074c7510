//! A lab's run directory. Its lock shows that the lab is up, and that the directory belongs to a lab.
//!
//! The directory gets its name together with its lock, and loses both at once, by a rename. So a killed
//! keeper leaves either a lab's directory or one with a [`DRAFT`]'s name. Nothing else is ever removed.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use delaylab_os::files::folder::Folder;
use delaylab_os::files::removal;
use delaylab_proto::{Context, Failure};
use serde::Serialize;

use super::{cgroups, domains};

const LOCK: &str = "lock";
/// The first line of a lock: a mark with the number of this format.
const MARK: &str = "delaylab lab 1";
/// The prefix of a directory that is being created or removed. No lab's name begins with a dot.
const DRAFT: &str = ".delaylab-";
/// The suffix of a guest's folder.
const GUEST: &str = ".guest";
/// The suffix of a folder with the keys and files of a node's work, which a node makes.
const WORK: &str = ".work";

/// A run directory whose lock this process holds.
pub(super) struct RunDir {
    /// The parent directory, and the name in it.
    top: Folder,
    name: String,
    path: PathBuf,
    folder: Folder,
    lock: File,
}

/// An entry of the directory that holds the labs' run directories.
pub(super) enum Entry {
    /// A lab that is up.
    Up,
    /// The remains of a lab whose keeper was killed.
    Stale(RunDir),
    /// An entry that has gone or is just being created.
    Gone,
    /// An entry that does not belong to a lab.
    Foreign,
}

impl RunDir {
    /// Create and lock the run directory of `lab`. Remove the remains of a killed keeper first, after `sweep`
    /// has removed their control groups.
    pub(super) fn create(
        path: &Path,
        lab: &str,
        sweep: impl Fn(&[PathBuf]),
    ) -> Result<Self, Failure> {
        let what = || format!("make the run directory {}", path.display());
        let (above, name) = split(path).with_context(what)?;
        DirBuilder::new().recursive(true).mode(0o700).create(above).with_context(what)?;
        let unsafe_place = |error: io::Error| {
            Failure::new(format!("make a run directory in {}", above.display()), error)
                .fix("name a directory of your own that others cannot write to: DELAYLAB_RUN=DIR")
        };
        let top = Folder::open(above).map_err(unsafe_place)?;
        top.require_safe().map_err(unsafe_place)?;
        loop {
            match Self::look(&top, name, path).with_context(what)? {
                Entry::Up => {
                    let why = format!("lab {lab} is already up");
                    return Err(Failure::new(format!("build lab {lab}"), why)
                        .fix(format!("take it down first: delaylab down {lab}")));
                }
                Entry::Foreign => {
                    return Err(Failure::new(what(), "it holds files that are not a lab's")
                        .fix("give an empty directory, or one that does not exist"));
                }
                Entry::Stale(stale) => {
                    sweep(&stale.groups().with_context(what)?);
                    stale.remove().with_context(what)?;
                }
                Entry::Gone => {}
            }
            if let Some(made) = Self::make(&top, name, path).with_context(what)? {
                return Ok(made);
            }
        }
    }

    /// Examine an entry of `top`, and lock it if it is the remains of a killed keeper. An empty directory
    /// counts as gone: one may be given to a lab, and a sweep does not remove it.
    pub(super) fn look(top: &Folder, name: &str, path: &Path) -> io::Result<Entry> {
        let folder = match top.enter(name) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entry::Gone),
            // A file or a link: O_DIRECTORY and O_NOFOLLOW refuse both with this error.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Ok(Entry::Foreign);
            }
            Err(error) => return Err(error),
        };
        if folder.require_private().is_err() {
            return Ok(Entry::Foreign);
        }
        let lock = match folder.file(LOCK, false) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let empty = fs::read_dir(folder.here())?.next().is_none();
                return Ok(if empty { Entry::Gone } else { Entry::Foreign });
            }
            Err(_) => return Ok(Entry::Foreign),
        };
        if !is_marked(&lock)? && !name.starts_with(DRAFT) {
            return Ok(Entry::Foreign);
        }
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Entry::Up),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The last holder may have removed the file between open and lock: then it locks nothing.
        if !is_named(&folder, &lock)? {
            return Ok(Entry::Gone);
        }
        let top = top.try_clone()?;
        Ok(Entry::Stale(Self { top, name: name.to_owned(), path: path.to_owned(), folder, lock }))
    }

    /// Create the directory under a draft's name, lock it, and rename it. Return `None` if another keeper, or
    /// a sweep that took the draft for remains, intervened.
    fn make(top: &Folder, name: &str, path: &Path) -> io::Result<Option<Self>> {
        let draft = draft_name();
        let folder = top.make(&draft)?;
        let lock = match folder.file(LOCK, true) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock?,
        };
        if lock.try_lock().is_err() || !is_named(&folder, &lock)? {
            return Ok(None);
        }
        writeln!(&lock, "{MARK}")?;
        match fs::rename(top.at(&draft), top.at(name)) {
            Ok(()) => {
                let (top, name, path) = (top.try_clone()?, name.to_owned(), path.to_owned());
                Ok(Some(Self { top, name, path, folder, lock }))
            }
            Err(error) => {
                fs::remove_file(folder.at(LOCK))?;
                fs::remove_dir(top.at(&draft))?;
                match error.kind() {
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => Ok(None),
                    _ => Err(error),
                }
            }
        }
    }

    /// Record the control groups that this lab uses, before they are created.
    pub(super) fn record(&self, groups: &[PathBuf]) -> io::Result<()> {
        let lines: String = groups.iter().map(|path| format!("{}\n", path.display())).collect();
        (&self.lock).write_all(lines.as_bytes())
    }

    /// Return the recorded control groups. Fail if a line names anything else.
    pub(super) fn groups(&self) -> io::Result<Vec<PathBuf>> {
        let lines = BufReader::new(fs::File::open(self.folder.at(LOCK))?).lines().skip(1);
        let groups: Vec<PathBuf> =
            lines.map(|line| line.map(PathBuf::from)).collect::<io::Result<_>>()?;
        cgroups::require_ours(&groups)?;
        Ok(groups)
    }

    /// Write a description of the lab to `lab.json`, atomically.
    pub(super) fn describe(&self, lab: &impl Serialize) -> io::Result<()> {
        let draft = self.folder.at("lab.json.new");
        fs::write(&draft, serde_json::to_vec(lab)?)?;
        fs::rename(draft, self.folder.at("lab.json"))
    }

    /// Return another handle of the directory itself, for creating entries in it.
    pub(super) fn place(&self) -> io::Result<Folder> {
        self.folder.try_clone()
    }

    /// Return the path of the socket on which the agent `name` listens.
    pub(super) fn socket(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.sock"))
    }

    /// Return the folder that the guest of the agent `name` may use.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{GUEST}"))
    }

    /// Remove the directory with its files and the folders of guests and of work, but no other directories.
    pub(super) fn remove(self) -> io::Result<()> {
        self.empty()?;
        let draft = draft_name();
        fs::rename(self.top.at(&self.name), self.top.at(&draft))?;
        fs::remove_file(self.folder.at(LOCK))?;
        fs::remove_dir(self.top.at(&draft))
    }

    /// Remove all files of the lab except the lock, and destroy the domains that they name.
    fn empty(&self) -> io::Result<()> {
        domains::destroy(&self.folder.here())?;
        for entry in fs::read_dir(self.folder.here())? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type()?.is_dir() {
                let name = name.to_string_lossy();
                if [GUEST, WORK].iter().any(|suffix| name.ends_with(suffix)) {
                    removal::remove_all(&self.folder, &entry.file_name()).map_err(|error| {
                        io::Error::new(error.kind(), format!("{name}: {error}"))
                    })?;
                }
            } else if name != LOCK {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Remove an empty directory with a draft's name; return true if it has such a name.
pub(super) fn remove_empty_draft(top: &Folder, name: &str) -> bool {
    if !name.starts_with(DRAFT) {
        return false;
    }
    // The next sweep takes care of a directory that is not empty.
    let _ = fs::remove_dir(top.at(name));
    true
}

/// Return a unique name for a directory that is being created or removed.
fn draft_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{DRAFT}{}-{count}", std::process::id())
}

fn split(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| io::Error::other("it has no name"))?;
    let above = path.parent().filter(|above| *above != Path::new(""));
    Ok((above.unwrap_or(Path::new(".")), name))
}

/// Return true if a lock begins with the mark, so delaylab wrote it. Read no more than the mark's length.
fn is_marked(lock: &File) -> io::Result<bool> {
    let mut start = String::new();
    let limit = MARK.len() as u64 + 1;
    match BufReader::new(io::Read::take(lock, limit)).read_line(&mut start) {
        Ok(_) => Ok(start.strip_suffix('\n') == Some(MARK)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
        Err(error) => Err(error),
    }
}

/// Return true if the lock is still the one in the directory.
fn is_named(folder: &Folder, lock: &File) -> io::Result<bool> {
    match fs::symlink_metadata(folder.at(LOCK)) {
        Ok(named) => Ok(named.ino() == lock.metadata()?.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
