//! The folder with the state and the output of a node's programs.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use delaylab_os::clock::Realtime;
use delaylab_os::files::folder::wait_in_until;
use delaylab_proto::{Context, Failure};
use delaylab_recording::files::Files;
use serde::{Deserialize, Serialize};

use crate::protocol::starting::{NodeState, Program, ProgramState, RecordingState};

/// The folder of a node whose file system is its own, or whose `/run` is (`fabric/own_folders.rs`).
const FOLDER: &str = "/run/delaylab-programs";
/// The file that says what was done to the node as a whole.
const NODE: &str = "node.json";
/// The file that says how programs are started.
const PROGRAMS: &str = "programs.json";
/// The time that a supervisor may take to note the end of its program.
const NOTED: Duration = Duration::from_secs(10);

/// A folder with a file for the state of each program, and one or two for its output.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ProgramsFolder {
    folder: PathBuf,
}

impl ProgramsFolder {
    pub(super) fn in_folder(folder: Option<PathBuf>) -> Self {
        Self { folder: folder.unwrap_or_else(|| PathBuf::from(FOLDER)) }
    }

    /// Make the folder, which only the user of the programs may enter.
    pub(super) fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    /// Return the path of a file in the folder that is not of a program.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Wait until `find` returns something, called again whenever a file of the folder is written anew; at most so
    /// long.
    pub(super) fn wait<T>(
        &self,
        most: Duration,
        find: impl FnMut() -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        wait_in_until(&self.folder, Some(Instant::now() + most), find)
            .with_context(|| format!("watch {}", self.folder.display()))
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

    /// Return the files of a program's recording.
    pub(super) fn recording(&self, name: &str) -> Files {
        Files::beside(&self.log_file(name))
    }

    /// Keep a program's state in place of the one before.
    pub(super) fn save(&self, state: &ProgramState) -> Result<(), Failure> {
        let what = "keep the program's state";
        let text = serde_json::to_vec(state).context(what)?;
        let place = self.state_file(&state.name).context(what)?;
        let partial = place.with_extension("new");
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, place)).context(what)
    }

    /// Return what was last done to the node as a whole.
    pub(super) fn node_state(&self) -> Result<NodeState, Failure> {
        let what = "read the node's state";
        match fs::read(self.folder.join(NODE)) {
            Ok(text) => serde_json::from_slice(&text).context(what),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(NodeState::Running),
            Err(error) => Err(Failure::new(what, error)),
        }
    }

    /// Keep what was done to the node as a whole.
    pub(super) fn note_node(&self, state: NodeState) -> Result<(), Failure> {
        let what = "keep the node's state";
        self.make().context(what)?;
        let text = serde_json::to_vec(&state).context(what)?;
        fs::write(self.folder.join(NODE), text).context(what)
    }

    /// Keep how a program is started, in the order of first starts, for another start.
    pub(super) fn remember(&self, program: &Program) -> Result<(), Failure> {
        let what = "keep how the program is started";
        self.make().context(what)?;
        let mut all = self.remembered()?;
        all.retain(|each| each.name != program.name);
        all.push(program.clone());
        let place = self.folder.join(PROGRAMS);
        let partial = place.with_extension("new");
        let text = serde_json::to_vec(&all).context(what)?;
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, place)).context(what)
    }

    /// Return how programs are started, in the order of their first starts.
    pub(super) fn remembered(&self) -> Result<Vec<Program>, Failure> {
        let what = "read how programs are started";
        match fs::read(self.folder.join(PROGRAMS)) {
            Ok(text) => serde_json::from_slice(&text).context(what),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Failure::new(what, error)),
        }
    }

    /// Return the state of each program, in the order of their names.
    pub(super) fn states(&self) -> Result<Vec<ProgramState>, Failure> {
        let what = "list the node's programs";
        let mut programs = Vec::new();
        let Ok(entries) = fs::read_dir(&self.folder) else { return Ok(programs) };
        for entry in entries {
            let path = entry.context(what)?.path();
            if path.extension().is_some_and(|end| end == "state") {
                programs.push(self.read(&path).context(what)?);
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
        self.read(&path).with_context(what)
    }

    /// Read a state, with an end if the program is gone and its supervisor could not say so.
    fn read(&self, path: &Path) -> io::Result<ProgramState> {
        let mut state: ProgramState = serde_json::from_slice(&fs::read(path)?)?;
        if state.ended_ns.is_none() && !Path::new(&format!("/proc/{}", state.pid)).exists() {
            state.ended_ns = Some(Realtime::now().ns());
        }
        state.recording = None;
        if state.ended_ns.is_none() {
            (state.ran_ns, state.waited_ns) = cpu_times(state.pid);
            state.recording = self.recording(&state.name).is_cut().map(|cut| match cut {
                true => RecordingState::Cut,
                false => RecordingState::Whole,
            });
        }
        Ok(state)
    }

    /// Return the state of a program that has ended, once its supervisor has noted how.
    pub(super) fn noted_end(&self, name: &str) -> Result<ProgramState, Failure> {
        let noted = || {
            let found = self.state(name);
            let waits = found.as_ref().is_ok_and(|it| it.exit.is_none() && it.killed.is_none());
            (!waits).then_some(found)
        };
        self.wait(NOTED, noted)?.unwrap_or_else(|| self.state(name))
    }
}

/// Return the file to which a log is moved when it is full.
pub(super) fn before(log: &Path) -> PathBuf {
    log.with_extension("log.before")
}

/// Return the CPU time of a process's threads and the time that they waited for a CPU, in ns; 0 for one that has
/// ended meanwhile, or if the kernel does not count it.
fn cpu_times(pid: i32) -> (u64, u64) {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return (0, 0) };
    let times = threads.flatten().filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let mut fields = text.split_whitespace().map_while(|field| field.parse::<u64>().ok());
        Some((fields.next()?, fields.next()?))
    });
    times.fold((0, 0), |(ran, waited), (more, delay)| (ran + more, waited + delay))
}
