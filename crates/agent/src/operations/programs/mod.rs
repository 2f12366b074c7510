//! `start`, `programs`, `output`, `end`, `control`, `schedule`, `record`, `notify`: a node's files, and the programs that
//! run as long as the node.
//!
//! Each program has a supervisor, a process of its own that outlives the session (`delaylab-agent supervise`). It
//! keeps the program's output and its state ([`ProgramsFolder`]), and ends with the node, as all of its processes do.

mod control;
mod files;
mod folders;
mod notifications;
mod programs_folder;
mod ready;
mod recording;
mod schedule;
mod supervisor;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::{self, PidFd};
use delaylab_proto::{Context, Failure, Frame, Kind};
use serde::{Deserialize, Serialize};

use crate::protocol::programs::Nothing;
use crate::protocol::starting::{
    EndProgram, EndProgramDone, Output, Programs, ProgramsDone, Start, StartDone,
};
use crate::session::Session;

use programs_folder::ProgramsFolder;
use supervisor::Supervise;

pub(crate) use control::control;
pub(crate) use notifications::notify;
pub(crate) use recording::record;
pub(crate) use schedule::{carry_out, schedule, scheduled};
pub(crate) use supervisor::supervise;

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

/// Write files and start programs; return once all programs are ready. Fails for a program whose name one of the
/// node has already.
pub(crate) fn start(request: Start, session: &mut Session) -> Result<StartDone, Failure> {
    if !request.programs.is_empty() {
        folders::make(&request.within);
    }
    for file in &request.files {
        files::write(file, &request.within)?;
    }
    let kept = ProgramsFolder::in_folder(request.folder);
    let mut done = StartDone { pids: std::collections::BTreeMap::new() };
    for program in request.programs {
        let name = program.name.clone();
        if kept.state_file(&name).with_context(|| format!("start {name}"))?.exists() {
            let why = "a program of this name was started before";
            return Err(Failure::new(format!("start {name}"), why));
        }
        kept.remember(&program)?;
        let pid = launch(
            Supervise { kept: kept.clone(), program, notify_later: request.notify_later },
            Some(session),
        )?;
        done.pids.insert(name, pid);
    }
    Ok(done)
}

/// Start a program's supervisor, and wait until the program is ready. Return its process id. If the client of
/// `session` goes away meanwhile, the program is ended.
fn launch(order: Supervise, session: Option<&mut Session>) -> Result<i32, Failure> {
    let what = || format!("start {}", order.program.name);
    let mut command = Command::new("/proc/self/exe");
    command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut supervisor = command.spawn().with_context(what)?;
    let description = serde_json::to_vec(&order).with_context(what)?;
    let mut input = supervisor.stdin.take().expect("it was asked for");
    input.write_all(&description).with_context(what)?;
    drop(input);
    let reports = supervisor.stdout.take().expect("it was asked for");
    match report(reports, &mut supervisor, session)? {
        Report::Ready(pid) => Ok(pid),
        Report::Failed(failure) => Err(failure),
    }
}

/// Wait for a supervisor's report. If the session's client goes away or says `stop`, end the supervisor, and with it
/// the program.
fn report(
    reports: ChildStdout,
    supervisor: &mut Child,
    mut session: Option<&mut Session>,
) -> Result<Report, Failure> {
    let what = "wait for a program";
    loop {
        let mut on = vec![(reports.as_fd(), Interest::Read)];
        on.extend(session.as_deref().map(|session| (session.input(), Interest::Read)));
        let ready = poll::wait(&on, None).context(what)?;
        if ready[0] {
            let mut line = String::new();
            BufReader::new(reports).read_line(&mut line).context(what)?;
            return serde_json::from_str(&line).context(what);
        }
        let Some(session) = session.as_deref_mut() else { continue };
        if ready[1] && session.must_end()? {
            supervisor.kill().context(what)?;
            return Err(Failure::new(what, "the client did not wait for it"));
        }
    }
}

/// Report the state of each program.
pub(crate) fn list(request: Programs, _: &mut Session) -> Result<ProgramsDone, Failure> {
    let kept = ProgramsFolder::in_folder(request.folder);
    Ok(ProgramsDone { node: kept.node_state()?, programs: kept.states()? })
}

/// Send the kept output of a program.
pub(crate) fn output(request: Output, session: &mut Session) -> Result<Nothing, Failure> {
    let what = || format!("read the output of {}", request.name);
    let kept = ProgramsFolder::in_folder(request.folder);
    kept.state(&request.name)?;
    let log = kept.log_file(&request.name);
    for path in [programs_folder::before(&log), log] {
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

/// End a program, and return its state.
pub(crate) fn end(request: EndProgram, _: &mut Session) -> Result<EndProgramDone, Failure> {
    let what = || format!("end {}", request.name);
    let kept = ProgramsFolder::in_folder(request.folder);
    let state = kept.state(&request.name)?;
    if state.ended_ns.is_some() {
        return Ok(EndProgramDone { program: state });
    }
    // It may have ended since.
    if let Ok(handle) = PidFd::open(state.pid) {
        let ended = |within| poll::wait(&[(handle.as_fd(), Interest::Read)], within);
        let within = Duration::from_millis(request.within_ms);
        process::signal_group(state.pid, process::SIGTERM).with_context(what)?;
        if !ended(Some(within)).with_context(what)?[0] {
            process::signal_group(state.pid, process::SIGKILL).with_context(what)?;
            ended(None).with_context(what)?;
        }
    }
    Ok(EndProgramDone { program: kept.noted_end(&request.name)? })
}
