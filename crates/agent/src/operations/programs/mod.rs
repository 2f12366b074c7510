//! `start`, `programs`, `output`: a node's files, and the programs that run as long as the node.
//!
//! Each program has a supervisor, a process of its own that outlives the session (`delaylab-agent supervise`). It
//! keeps the program's output and its state in [`FOLDER`], and ends with the node, as all of its processes do.

mod files;
mod folders;
mod ready;
mod supervisor;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure, Frame, Kind};
use serde::{Deserialize, Serialize};

use crate::protocol::programs::Nothing;
use crate::protocol::starting::{
    Output, Program, ProgramState, Programs, ProgramsDone, Start, StartDone,
};
use crate::session::Session;

pub(crate) use supervisor::supervise;

/// The folder with the state and the output of a node's programs. It is the node's own: its file system is, or
/// its `/run` is (`fabric/own_files.rs`).
const FOLDER: &str = "/run/delaylab-programs";
/// The verb of this program that supervises one of the node.
const VERB: &str = "supervise";
/// The most bytes in one frame of output.
const PIECE: usize = 1 << 20;

/// The supervisor's report, once.
#[derive(Serialize, Deserialize)]
enum Report {
    /// The program is ready, and has this process id.
    Ready(i32),
    Failed(Failure),
}

/// Write files and start programs; return once all programs are ready.
pub(crate) fn start(request: Start, session: &mut Session) -> Result<StartDone, Failure> {
    if !request.programs.is_empty() {
        folders::make(&request.within);
    }
    for file in &request.files {
        files::write(file, &request.within)?;
    }
    let mut done = StartDone { pids: std::collections::BTreeMap::new() };
    for program in request.programs {
        let pid = launch(&program, session)?;
        done.pids.insert(program.name, pid);
    }
    Ok(done)
}

/// Start a program's supervisor, and wait until the program is ready. Return its process id.
fn launch(program: &Program, session: &mut Session) -> Result<i32, Failure> {
    let what = || format!("start {}", program.name);
    if program.name.contains('/') || program.name.starts_with('.') || program.name.is_empty() {
        return Err(Failure::new(what(), "a program's name is no path"));
    }
    if state_file(&program.name).exists() {
        return Err(Failure::new(what(), "a program of this name was started before"));
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut supervisor = command.spawn().with_context(what)?;
    let description = serde_json::to_vec(program).with_context(what)?;
    let mut input = supervisor.stdin.take().expect("it was asked for");
    input.write_all(&description).with_context(what)?;
    drop(input);
    let reports = supervisor.stdout.take().expect("it was asked for");
    match report(reports, &mut supervisor, session)? {
        Report::Ready(pid) => Ok(pid),
        Report::Failed(failure) => Err(failure),
    }
}

/// Wait for a supervisor's report. If the client goes away or says `stop`, end the supervisor, and with it the
/// program.
fn report(
    reports: ChildStdout,
    supervisor: &mut Child,
    session: &mut Session,
) -> Result<Report, Failure> {
    let what = "wait for a program";
    loop {
        let on = [(reports.as_fd(), Interest::Read), (session.input(), Interest::Read)];
        let ready = poll::wait(&on, None).context(what)?;
        if ready[0] {
            let mut line = String::new();
            BufReader::new(reports).read_line(&mut line).context(what)?;
            return serde_json::from_str(&line).context(what);
        }
        if ready[1] && session.must_end()? {
            supervisor.kill().context(what)?;
            return Err(Failure::new(what, "the client did not wait for it"));
        }
    }
}

/// Report the state of each program.
pub(crate) fn list(_: Programs, _: &mut Session) -> Result<ProgramsDone, Failure> {
    let what = "list the node's programs";
    let mut programs = Vec::new();
    let Ok(entries) = fs::read_dir(FOLDER) else { return Ok(ProgramsDone { programs }) };
    for entry in entries {
        let path = entry.context(what)?.path();
        if path.extension().is_some_and(|end| end == "state") {
            let text = fs::read(&path).context(what)?;
            let state: ProgramState = serde_json::from_slice(&text).context(what)?;
            programs.push(supervisor::as_it_is(state));
        }
    }
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(ProgramsDone { programs })
}

/// Send the kept output of a program.
pub(crate) fn output(request: Output, session: &mut Session) -> Result<Nothing, Failure> {
    let what = || format!("read the output of {}", request.name);
    if request.name.contains('/') || !state_file(&request.name).exists() {
        return Err(Failure::new(what(), "no program of this name was started"));
    }
    for path in [before(&log_file(&request.name)), log_file(&request.name)] {
        match fs::read(&path) {
            Ok(bytes) => {
                for piece in bytes.chunks(PIECE) {
                    session.frame(&Frame::new(Kind::Stdout, piece))?;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::new(what(), error)),
        }
    }
    Ok(Nothing {})
}

fn state_file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.state"))
}

fn log_file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.log"))
}

/// Return the file to which a log is moved when it is full.
fn before(log: &Path) -> PathBuf {
    log.with_extension("log.before")
}
