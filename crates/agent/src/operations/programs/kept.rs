//! The folder with the state and the output of a node's programs.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use delaylab_os::clock::Realtime;
use delaylab_os::files::folder::wait_in_until;
use delaylab_proto::{Context, Failure};
use serde::{Deserialize, Serialize};

use crate::protocol::starting::ProgramState;

/// The folder of a node whose file system is its own, or whose `/run` is (`fabric/own_folders.rs`).
const FOLDER: &str = "/run/delaylab-programs";
/// The time that a supervisor may take to note the end of its program.
const NOTED: Duration = Duration::from_secs(10);

/// A folder with a file for the state of each program, and one or two for its output.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    folder: PathBuf,
}

impl Kept {
    pub(super) fn in_folder(folder: Option<PathBuf>) -> Self {
        Self { folder: folder.unwrap_or_else(|| PathBuf::from(FOLDER)) }
    }

    /// Make the folder, which only the user of the programs may enter.
    pub(super) fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    /// Return the file of a program's state. Fails for a name that is a path.
    pub(super) fn state_file(&self, name: &str) -> io::Result<PathBuf> {
        if name.contains('/') || name.starts_with('.') || name.is_empty() {
            return Err(io::Error::other("a program's name is no path"));
        }
        Ok(self.folder.join(format!("{name}.state")))
    }

    pub(super) fn log_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Return the state of each program, in the order of their names.
    pub(super) fn states(&self) -> Result<Vec<ProgramState>, Failure> {
        let what = "list the node's programs";
        let mut programs = Vec::new();
        let Ok(entries) = fs::read_dir(&self.folder) else { return Ok(programs) };
        for entry in entries {
            let path = entry.context(what)?.path();
            if path.extension().is_some_and(|end| end == "state") {
                programs.push(read(&path).context(what)?);
            }
        }
        programs.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(programs)
    }

    /// Return the state of a program.
    pub(super) fn state(&self, name: &str) -> Result<ProgramState, Failure> {
        let what = || format!("find program {name}");
        let path = self.state_file(name).with_context(what)?;
        if !path.exists() {
            return Err(Failure::new(what(), "no program of this name was started"));
        }
        read(&path).with_context(what)
    }

    /// Return the state of a program that has ended, once its supervisor has noted how.
    pub(super) fn noted_end(&self, name: &str) -> Result<ProgramState, Failure> {
        let noted = || {
            let found = self.state(name);
            let waits = found.as_ref().is_ok_and(|it| it.exit.is_none() && it.killed.is_none());
            (!waits).then_some(found)
        };
        let found = wait_in_until(&self.folder, Some(Instant::now() + NOTED), noted)
            .with_context(|| format!("watch {}", self.folder.display()))?;
        found.unwrap_or_else(|| self.state(name))
    }
}

/// Return the file to which a log is moved when it is full.
pub(super) fn before(log: &Path) -> PathBuf {
    log.with_extension("log.before")
}

/// Read a state, with an end if the program is gone and its supervisor could not say so.
fn read(path: &Path) -> io::Result<ProgramState> {
    let mut state: ProgramState = serde_json::from_slice(&fs::read(path)?)?;
    if state.ended_ns.is_none() && !Path::new(&format!("/proc/{}", state.pid)).exists() {
        state.ended_ns = Some(Realtime::now().ns());
    }
    Ok(state)
}
