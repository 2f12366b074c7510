//! The files of a recording: the library and the log, in the folder of the node's programs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use delaylab_calls::{HEADER, is_cut};

use crate::protocol::starting::RecordingState;

/// The files of a program's recording. The agent that records has a lock, and nobody else makes or removes them.
pub(super) struct Files {
    pub(super) library: PathBuf,
    pub(super) calls: PathBuf,
    lock: PathBuf,
}

/// The lock on a recording's files. They are removed with this.
pub(super) struct Locked {
    files: Files,
    _lock: File,
}

impl Files {
    /// Return the files of the program whose output is kept in a file.
    pub(super) fn beside(log: &Path) -> Self {
        let with = |extension: &str| log.with_extension(extension);
        Self { library: with("library"), calls: with("calls"), lock: with("recording") }
    }

    /// Take the lock, and remove what an agent that was killed has left. Return None if another agent has it.
    pub(super) fn lock(self) -> io::Result<Option<Locked>> {
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
    pub(super) fn forget(self) {
        if self.library.exists() || self.calls.exists() || self.lock.exists() {
            let _ = self.lock();
        }
    }

    /// Return whether the program is recorded, and if the log has been cut.
    pub(super) fn state(&self) -> Option<RecordingState> {
        let mut head = [0; HEADER];
        let read = File::open(&self.calls).ok()?.read(&mut head).ok()?;
        Some(if is_cut(&head[..read]) { RecordingState::Cut } else { RecordingState::Whole })
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
