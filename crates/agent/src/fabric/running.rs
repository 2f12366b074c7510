//! The labs of this user that are up on this machine: listed, reached and ended.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

use delaylab_os::files::folder::Folder;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::{self, PidFd, namespace};
use delaylab_os::socket;
use delaylab_proto::{Context, Failure};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::plan::check_name;
use super::rundir::{Entry, RunDir};
use super::sweep;
use crate::protocol::machine::{EndLab, LabFiles, LabFilesDone, Labs, LabsDone, Sweep, SweepDone};
use crate::protocol::programs::Nothing;
use crate::session::Session;

const DESCRIPTION: &str = "lab.json";
/// The time that a keeper has to end its lab before it is killed, and to end then.
const PATIENCE: Duration = Duration::from_secs(20);

/// Return the directory of this user's labs: `$DELAYLAB_RUN`, or the one of the user.
pub(crate) fn run_directory() -> PathBuf {
    if let Some(given) = env::var_os("DELAYLAB_RUN").filter(|given| !given.is_empty()) {
        return given.into();
    }
    let (user, _) = namespace::user();
    if user == 0 {
        return "/run/delaylab".into();
    }
    let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match own.filter(|place| place.is_dir()) {
        Some(place) => place.join("delaylab"),
        None => format!("/tmp/delaylab-{user}").into(),
    }
}

/// List the labs that are up.
pub(crate) fn list(_: Labs, _: &mut Session) -> Result<LabsDone, Failure> {
    let mut labs = BTreeMap::new();
    let Some(top) = top()? else { return Ok(LabsDone { labs }) };
    for entry in fs::read_dir(top.here()).context("list the labs")? {
        let name = entry.context("list the labs")?.file_name();
        let Some(name) = name.to_str() else { continue };
        // A lab that is being built has no description yet.
        if let Ok(Some(folder)) = enter(&top, name)
            && let Ok(text) = fs::read_to_string(folder.at(DESCRIPTION))
            && let Ok(description) = RawValue::from_string(text)
        {
            labs.insert(name.to_owned(), description);
        }
    }
    Ok(LabsDone { labs })
}

/// List the entries of a lab's run directory.
pub(crate) fn files(request: LabFiles, _: &mut Session) -> Result<LabFilesDone, Failure> {
    let what = || format!("list the folder of lab {}", request.lab);
    let folder = running(&request.lab)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(folder.here()).with_context(what)? {
        names.push(entry.with_context(what)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(LabFilesDone { names })
}

/// Connect to an agent of a running lab.
pub(crate) fn connect(lab: &str, agent: &str) -> Result<UnixStream, Failure> {
    let what = || format!("reach agent {agent}");
    check_name(agent).with_context(what)?;
    let folder = running(lab)?;
    // The directory's path may be too long for a socket.
    let stream = UnixStream::connect(folder.at(&format!("{agent}.sock"))).with_context(what)?;
    socket::require_own(&stream).with_context(what)?;
    Ok(stream)
}

/// A keeper in `lab.json`.
#[derive(Deserialize)]
struct Described {
    keeper: Process,
}

#[derive(Deserialize)]
struct Process {
    pid: i32,
    start: u64,
}

/// End a lab, by force if it takes too long; a sweep then removes what is left.
pub(crate) fn end(request: EndLab, _: &mut Session) -> Result<Nothing, Failure> {
    let what = || format!("end lab {}", request.lab);
    check_name(&request.lab).with_context(what)?;
    let Some(top) = top()? else { return Ok(Nothing {}) };
    let Some(folder) = enter(&top, &request.lab).with_context(what)? else {
        return Ok(Nothing {});
    };
    let text = fs::read(folder.at(DESCRIPTION)).with_context(what)?;
    let Described { keeper } = serde_json::from_slice(&text).with_context(what)?;
    end_process(&keeper).with_context(what)?;
    Ok(Nothing {})
}

fn end_process(keeper: &Process) -> io::Result<()> {
    let Ok(handle) = PidFd::open(keeper.pid) else { return Ok(()) };
    // The open handle stays with its process, so the start time tells whether that is the keeper.
    if process::start_time(keeper.pid).ok() != Some(keeper.start) {
        return Ok(());
    }
    for signal in [process::SIGTERM, process::SIGKILL] {
        handle.signal(signal)?;
        if poll::wait(&[(handle.as_fd(), Interest::Read)], Some(PATIENCE))?[0] {
            return Ok(());
        }
    }
    Err(io::Error::other("its keeper cannot be killed"))
}

/// Remove what killed keepers left.
pub(crate) fn sweep_all(_: Sweep, _: &mut Session) -> Result<SweepDone, Failure> {
    sweep::sweep(&run_directory())
}

/// Return the run directory; `None` if there is none.
fn top() -> Result<Option<Folder>, Failure> {
    let path = run_directory();
    let what = || format!("open {}", path.display());
    match Folder::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        top => {
            let top = top.with_context(what)?;
            top.require_safe().with_context(what)?;
            Ok(Some(top))
        }
    }
}

/// Return the folder of a lab that is up, or is being built; `None` if it is not.
fn enter(top: &Folder, name: &str) -> io::Result<Option<Folder>> {
    match RunDir::look(top, name, &run_directory().join(name))? {
        Entry::Up => top.enter(name).map(Some),
        _ => Ok(None),
    }
}

fn running(lab: &str) -> Result<Folder, Failure> {
    let what = || format!("reach lab {lab}");
    check_name(lab).with_context(what)?;
    let found = match top()? {
        Some(top) => enter(&top, lab).with_context(what)?,
        None => None,
    };
    found.ok_or_else(|| Failure::new(what(), "it is not up"))
}
