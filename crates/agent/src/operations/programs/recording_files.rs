//! The files of a recording: the library and the log, in the folder of the node's programs.

use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};

use delaylab_calls::{HEADER, is_cut};

use crate::protocol::starting::RecordingState;

/// The files of a program's recording. The agent that records has a lock on the log.
pub(super) struct Files {
    pub(super) library: PathBuf,
    pub(super) calls: PathBuf,
}

impl Files {
    /// Return the files of the program whose output is kept in a file.
    pub(super) fn beside(log: &Path) -> Self {
        Self { library: log.with_extension("library"), calls: log.with_extension("calls") }
    }

    /// Return whether the program is recorded, and if the log has been cut.
    pub(super) fn state(&self) -> Option<RecordingState> {
        let mut head = [0; HEADER];
        let read = File::open(&self.calls).ok()?.read(&mut head).ok()?;
        Some(if is_cut(&head[..read]) { RecordingState::Cut } else { RecordingState::Whole })
    }

    /// Remove what an agent that was killed has left; return false if one records now.
    pub(super) fn forgotten(&self) -> bool {
        let held = File::open(&self.calls)
            .is_ok_and(|log| matches!(log.try_lock(), Err(TryLockError::WouldBlock)));
        if !held {
            self.remove();
        }
        !held
    }

    /// Remove both.
    pub(super) fn remove(&self) {
        for path in [&self.library, &self.calls] {
            let _ = fs::remove_file(path);
        }
    }
}
