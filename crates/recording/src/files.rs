//! The files of a recording: the library and the log, in the folder of the node's programs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::ops::Deref;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use delaylab_calls::{HEADER, MAGIC, is_cut};
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::PidFd;

/// The time that a program has to load the library.
const BEGINS: Duration = Duration::from_secs(2);
/// The time between two looks for the begin of a log.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The variable that names libraries to load first (ld.so(8)), and the one that names the log (`crates/replay`).
const PRELOAD: &str = "LD_PRELOAD";
const RECORD: &str = "DELAYLAB_RECORD";

/// The files of a program's recording. The agent that records has a lock, and nobody else makes or removes them.
pub struct Files {
    /// The library that records, as a file.
    pub library: PathBuf,
    /// The log, into which the program writes its calls.
    pub calls: PathBuf,
    lock: PathBuf,
}

/// The lock on a recording's files. They are removed with this.
pub struct Locked {
    files: Files,
    _lock: File,
}

impl Files {
    /// Return the files of the program whose output is kept in a file.
    pub fn beside(log: &Path) -> Self {
        let with = |extension: &str| log.with_extension(extension);
        Self { library: with("library"), calls: with("calls"), lock: with("recording") }
    }

    /// Take the lock, and remove what an agent that was killed has left. Return None if another agent has it.
    pub fn lock(self) -> io::Result<Option<Locked>> {
        loop {
            let file =
                OpenOptions::new().write(true).create(true).truncate(false).open(&self.lock)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
                Ok(()) => {}
            }
            // Whoever had it before has removed the file, perhaps after it was opened here.
            let is_there = fs::metadata(&self.lock).is_ok_and(|there| {
                file.metadata()
                    .is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
            });
            if is_there {
                self.remove();
                return Ok(Some(Locked { files: self, _lock: file }));
            }
        }
    }

    /// Remove what an agent that was killed has left, unless one records now.
    pub fn forget(self) {
        if self.library.exists() || self.calls.exists() || self.lock.exists() {
            let _ = self.lock();
        }
    }

    /// Return true if the log has been cut; None if the program is not recorded.
    pub fn is_cut(&self) -> Option<bool> {
        let mut head = [0; HEADER];
        let read = File::open(&self.calls).ok()?.read(&mut head).ok()?;
        Some(is_cut(&head[..read]))
    }

    /// Return environment variables for a program: they load the library, and name the log to it.
    pub fn variables(&self) -> [(String, String); 2] {
        [(PRELOAD, &self.library), (RECORD, &self.calls)]
            .map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned()))
    }

    /// Wait for the library to begin a log in a process; return false if it does not.
    pub fn begin(&self, pid: i32, process: Option<&PidFd>) -> io::Result<bool> {
        let deadline = Instant::now() + BEGINS;
        let mut ended = process.is_none();
        loop {
            let mut head = [0; HEADER];
            let read = File::open(&self.calls)?.read(&mut head)?;
            let is_log = read == HEADER && head[..MAGIC.len()] == MAGIC;
            // A shell may have begun the log, and then have become another program.
            if is_log && (ended || has_library(pid, &self.library)?) {
                return Ok(true);
            }
            let Some(process) = process.filter(|_| !ended && Instant::now() < deadline) else {
                return Ok(false);
            };
            // The library writes the log through mapped memory, so no descriptor becomes ready.
            ended = poll::wait(&[(process.as_fd(), Interest::Read)], Some(LOOK_EVERY))?[0];
        }
    }

    /// Remove the library and the log.
    fn remove(&self) {
        for path in [&self.library, &self.calls] {
            let _ = fs::remove_file(path);
        }
    }
}

impl Deref for Locked {
    type Target = Files;

    fn deref(&self) -> &Files {
        &self.files
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.files.remove();
        // While the lock is held: it is nobody else's.
        let _ = fs::remove_file(&self.files.lock);
    }
}

/// Return true if a process has the library in its memory, or has ended.
fn has_library(pid: i32, library: &Path) -> io::Result<bool> {
    match fs::read_to_string(format!("/proc/{pid}/maps")) {
        Ok(maps) => {
            let library = library.to_string_lossy();
            Ok(maps.is_empty() || maps.lines().any(|line| line.ends_with(library.as_ref())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}
