//! A lab's run directory: its lock says that the lab is up.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use delaylab_proto::Failure;
use serde::Serialize;

use super::domains;

const LOCK: &str = "lock";
/// How the name of a guest's folder ends.
const GUEST: &str = ".guest";

/// A run directory that this process holds the lock of.
pub struct RunDir {
    path: PathBuf,
    lock: File,
}

impl RunDir {
    /// Makes and locks the run directory of `lab`. One that a killed keeper left is taken over, its
    /// files removed, after [`RunDir::folders`] was handed to `sweep`.
    pub fn create(path: &Path, lab: &str, sweep: impl FnOnce(&[PathBuf])) -> Result<Self, Failure> {
        let what = || format!("make the run directory {}", path.display());
        let failed = |error: io::Error| Failure::new(what(), error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let foreign =
            !path.join(LOCK).exists() && fs::read_dir(path).map_err(failed)?.next().is_some();
        if foreign {
            return Err(Failure::new(what(), "it holds files that are not a lab's")
                .fix("give an empty directory, or one that does not exist"));
        }
        let Some(directory) = Self::lock(path).map_err(failed)? else {
            return Err(Failure::new(
                format!("build lab {lab}"),
                format!("lab {lab} is already up"),
            )
            .fix(format!("take it down first: delaylab down {lab}")));
        };
        sweep(&directory.folders());
        directory.empty().map_err(failed)?;
        directory.record(&[]).map_err(failed)?;
        Ok(directory)
    }

    /// Locks a run directory that a killed keeper left; `None` if its lab is up or it is none.
    pub fn take_over(path: &Path) -> Option<Self> {
        if !path.join(LOCK).is_file() {
            return None;
        }
        Self::lock(path).ok().flatten()
    }

    fn lock(path: &Path) -> io::Result<Option<Self>> {
        let lock_path = path.join(LOCK);
        loop {
            let mut options = OpenOptions::new();
            let lock = match options.read(true).append(true).create(true).open(&lock_path) {
                // An empty directory is what a killed keeper may leave: a sweep took it for one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
                    continue;
                }
                lock => lock?,
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Between open and lock its last holder may have removed it: then it locks nothing.
            let named = fs::metadata(&lock_path).map(|file| file.ino());
            if named.is_ok_and(|inode| lock.metadata().is_ok_and(|file| file.ino() == inode)) {
                return Ok(Some(Self { path: path.to_owned(), lock }));
            }
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        }
    }

    /// Writes down which control groups this lab makes, before it makes them.
    pub fn record(&self, folders: &[PathBuf]) -> io::Result<()> {
        self.lock.set_len(0)?;
        let lines: String = folders.iter().map(|path| format!("{}\n", path.display())).collect();
        (&self.lock).write_all(lines.as_bytes())
    }

    /// The control groups that were written down.
    pub fn folders(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string(self.path.join(LOCK)).unwrap_or_default();
        text.lines().map(PathBuf::from).collect()
    }

    /// Writes down what the lab is, for those who come later: `lab.json`, whole or not at all.
    pub fn describe(&self, lab: &impl Serialize) -> io::Result<()> {
        let draft = self.path.join("lab.json.new");
        fs::write(&draft, serde_json::to_vec(lab)?)?;
        fs::rename(draft, self.path.join("lab.json"))
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
    ///
    /// The lock goes last: whatever is left half-way is still known as a lab's, or is empty.
    pub fn remove(self) -> io::Result<()> {
        self.empty()?;
        fs::remove_file(self.path.join(LOCK))?;
        fs::remove_dir(&self.path)
    }

    /// Removes all of the lab's but the lock, and the domains that its files name.
    fn empty(&self) -> io::Result<()> {
        domains::destroy(&self.path)?;
        for entry in fs::read_dir(&self.path)? {
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
