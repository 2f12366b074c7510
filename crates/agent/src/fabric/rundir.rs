//! A lab's run directory: its lock says that the lab is up, and that the directory is a lab's.
//!
//! The directory appears under its name with its lock and loses both at once, by a rename: what a killed keeper leaves
//! is either a lab's directory or has a [`DRAFT`]'s name. Nothing else is ever removed.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use delaylab_os::folder::Folder;
use delaylab_proto::Failure;
use serde::Serialize;

use super::cgroups;
use super::domains;

const LOCK: &str = "lock";
/// The first line of a lock: what it is, and the number of this format.
const MARK: &str = "delaylab lab 1";
/// How the name of a directory begins that is being made or removed. No lab's name begins with a dot.
const DRAFT: &str = ".delaylab-";
/// How the name of a guest's folder ends.
const GUEST: &str = ".guest";

/// A run directory that this process holds the lock of.
pub struct RunDir {
    /// The directory that it is in, and its name there.
    top: Folder,
    name: String,
    path: PathBuf,
    folder: Folder,
    lock: File,
}

/// An entry of the directory where labs have theirs.
pub enum Entry {
    /// A lab that is up.
    Up,
    /// What a killed keeper left of a lab.
    Stale(RunDir),
    /// It has gone, or is just being made.
    Gone,
    /// Not a lab's.
    Foreign,
}

impl RunDir {
    /// Makes and locks the run directory of `lab`. One that a killed keeper left is removed first, after `sweep` has
    /// removed its control groups.
    pub fn create(path: &Path, lab: &str, sweep: impl Fn(&[PathBuf])) -> Result<Self, Failure> {
        let what = || format!("make the run directory {}", path.display());
        let failed = |error: io::Error| Failure::new(what(), error);
        let (above, name) = split(path).map_err(failed)?;
        DirBuilder::new().recursive(true).mode(0o700).create(above).map_err(failed)?;
        let unsafe_place = |error: io::Error| {
            Failure::new(format!("make a run directory in {}", above.display()), error)
                .fix("name a directory of your own that others cannot write to: DELAYLAB_RUN=DIR")
        };
        let top = Folder::open(above).map_err(unsafe_place)?;
        top.require_safe().map_err(unsafe_place)?;
        loop {
            match Self::look(&top, name, path).map_err(failed)? {
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
                    sweep(&stale.groups().map_err(failed)?);
                    stale.remove().map_err(failed)?;
                }
                Entry::Gone => {}
            }
            if let Some(made) = Self::make(&top, name, path).map_err(failed)? {
                return Ok(made);
            }
        }
    }

    /// Looks at an entry of `top`, and locks it if it is what a killed keeper left. An empty directory is as good as
    /// none: one may be given to a lab, and is not removed by a sweep.
    pub fn look(top: &Folder, name: &str, path: &Path) -> io::Result<Entry> {
        let folder = match top.enter(name) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entry::Gone),
            // A file, or a link, which O_DIRECTORY and O_NOFOLLOW refuse in this way.
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
        // Between open and lock its last holder may have removed it: then it locks nothing.
        if !is_named(&folder, &lock)? {
            return Ok(Entry::Gone);
        }
        let top = top.try_clone()?;
        Ok(Entry::Stale(Self { top, name: name.to_owned(), path: path.to_owned(), folder, lock }))
    }

    /// Makes the directory under a draft's name, locks it, and gives it its own name. `None` if another keeper, or a
    /// sweep of what it took for leftovers, came in between.
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

    /// Writes down which control groups this lab makes, before it makes them.
    pub fn record(&self, groups: &[PathBuf]) -> io::Result<()> {
        let lines: String = groups.iter().map(|path| format!("{}\n", path.display())).collect();
        (&self.lock).write_all(lines.as_bytes())
    }

    /// The control groups that were written down. A line that names something else is an error.
    pub fn groups(&self) -> io::Result<Vec<PathBuf>> {
        let lines = BufReader::new(fs::File::open(self.folder.at(LOCK))?).lines().skip(1);
        let groups: Vec<PathBuf> =
            lines.map(|line| line.map(PathBuf::from)).collect::<io::Result<_>>()?;
        cgroups::require_ours(&groups)?;
        Ok(groups)
    }

    /// Writes down what the lab is, for those who come later: `lab.json`, whole or not at all.
    pub fn describe(&self, lab: &impl Serialize) -> io::Result<()> {
        let draft = self.folder.at("lab.json.new");
        fs::write(&draft, serde_json::to_vec(lab)?)?;
        fs::rename(draft, self.folder.at("lab.json"))
    }

    /// Another handle of the directory itself, for those that make something in it.
    pub fn place(&self) -> io::Result<Folder> {
        self.folder.try_clone()
    }

    /// Where the agent `name` listens.
    pub fn socket(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.sock"))
    }

    /// What the guest of the agent `name` may use.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{GUEST}"))
    }

    /// Removes the directory, the files in it and the folders of guests; of other directories, none.
    pub fn remove(self) -> io::Result<()> {
        self.empty()?;
        let draft = draft_name();
        fs::rename(self.top.at(&self.name), self.top.at(&draft))?;
        fs::remove_file(self.folder.at(LOCK))?;
        fs::remove_dir(self.top.at(&draft))
    }

    /// Removes all of the lab's but the lock, and the domains that its files name.
    fn empty(&self) -> io::Result<()> {
        domains::destroy(&self.folder.here())?;
        for entry in fs::read_dir(self.folder.here())? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type()?.is_dir() {
                if name.to_string_lossy().ends_with(GUEST) {
                    fs::remove_dir_all(path)?;
                }
            } else if name != LOCK {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Removes a directory with a draft's name that is empty; returns true if it has such a name.
pub fn remove_empty_draft(top: &Folder, name: &str) -> bool {
    if !name.starts_with(DRAFT) {
        return false;
    }
    // One that is not empty, or has gone, is looked at by the next sweep.
    let _ = fs::remove_dir(top.at(name));
    true
}

/// The name of a directory that is being made or removed; no other is called so.
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

/// True if a lock begins with the mark: delaylab wrote it. Reads no further than the mark is long.
fn is_marked(lock: &File) -> io::Result<bool> {
    let mut start = String::new();
    let limit = MARK.len() as u64 + 1;
    match BufReader::new(io::Read::take(lock, limit)).read_line(&mut start) {
        Ok(_) => Ok(start.strip_suffix('\n') == Some(MARK)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
        Err(error) => Err(error),
    }
}

/// True if the lock is still the one in the directory.
fn is_named(folder: &Folder, lock: &File) -> io::Result<bool> {
    match fs::symlink_metadata(folder.at(LOCK)) {
        Ok(named) => Ok(named.ino() == lock.metadata()?.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
