//! The agent of a host's links: it answers for its engine, and when the engine ends it sets the ports down,
//! so that the nodes behind them see no carrier.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use delaylab_link::LinkState;
use delaylab_os::clock::Realtime;
use delaylab_os::files::descriptor;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::{self, Ended, PidFd, Side, title};
use delaylab_proto::{Context, Failure, Frame, Reply, read_frame};
use serde_json::Value;
use tracing::{info, warn};

use super::ports::{set_ports, take_ports_down};
use super::requests::{self, EngineReply, done, read, receive, send};
use super::task::EngineTask;
use super::{kernel_engine, own_engine};
use crate::link::configured::{Cause, ConfiguredConditions, DirectionConfig};
use crate::link::data::direction::Snapshot;
use crate::protocol::links::{DirectionReport, EngineKind, EngineReport, LinkRequest, LinkSet};
use crate::protocol::programs::Nothing;
use crate::session::{self, listen};

/// Serve a session's request about links: pass it to the supervisor and return the answer.
pub(crate) fn ask_supervisor(
    request: &LinkRequest,
    session: &mut session::Session,
) -> Result<Value, Failure> {
    let Some(supervisor) = session.supervisor() else {
        return Err(Failure::new("ask about links", "this agent carries none")
            .fix("ask the agent `link.HOST` of a host with links that have conditions"));
    };
    send(supervisor, request)?;
    receive(supervisor)
}

/// The agent with its engine.
pub(crate) struct Supervisor<'a> {
    task: EngineTask<'a>,
    /// The configuration with all changes by requests, with which a new engine starts.
    configured: ConfiguredConditions,
    engine: Result<EngineProcess, String>,
    sessions: Vec<SessionProcess>,
}

/// The process of a session, and the stream of its requests.
struct SessionProcess {
    pid: i32,
    requests: File,
}

impl<'a> Supervisor<'a> {
    /// Start the engine in this process's network namespace; it forwards from now on.
    pub(crate) fn start(task: EngineTask<'a>) -> Result<Self, Failure> {
        let configured = ConfiguredConditions::new(task.links, Realtime::now())?;
        let engine = Ok(EngineProcess::start(task, &configured, false)?);
        Ok(Self { task, configured, engine, sessions: Vec::new() })
    }

    /// Serve all clients for ever.
    pub(crate) fn serve(mut self, listener: &UnixListener) -> ! {
        loop {
            let mut on = vec![(listener.as_fd(), Interest::Read)];
            on.extend(
                self.sessions.iter().map(|session| (session.requests.as_fd(), Interest::Read)),
            );
            on.extend(self.engine.iter().map(|engine| (engine.ended(), Interest::Read)));
            let ready = listen::wait(&on);
            if ready.get(self.sessions.len() + 1) == Some(&true) {
                self.note_death();
            }
            if ready[0] {
                self.admit(listener);
            }
            let count = ready.len().min(self.sessions.len() + 1) - 1;
            for index in (0..count).rev().filter(|index| ready[index + 1]) {
                self.hear(index);
            }
        }
    }

    /// Start a process for a session; tell the client if that fails.
    fn admit(&mut self, listener: &UnixListener) {
        let Some(client) = listen::next_client(listener) else { return };
        match descriptor::stream_pair() {
            Ok((ours, theirs)) => {
                let pid = listen::start(client.into(), Some(theirs), self.task.serve);
                self.sessions.extend(pid.map(|pid| SessionProcess { pid, requests: ours.into() }));
            }
            Err(error) => listen::refuse(client.into(), &listen::cannot_start(&error)),
        }
    }

    /// Read a session's request, or notice its end.
    fn hear(&mut self, index: usize) {
        let frame = read_frame(&mut self.sessions[index].requests);
        let heard = match frame {
            Ok(Some(frame)) => {
                let reply = match self.answer(&frame) {
                    Ok(done) => EngineReply::Done(done),
                    Err(failure) => EngineReply::Error(failure),
                };
                send(&mut self.sessions[index].requests, &reply).is_ok()
            }
            Ok(None) | Err(_) => false,
        };
        if !heard {
            let ended = self.sessions.swap_remove(index);
            drop(ended.requests);
            process::wait(ended.pid);
        }
    }

    fn answer(&mut self, frame: &Frame) -> Result<Value, Failure> {
        let request = read(&frame.payload)?;
        if let (Err(_), LinkRequest::LinkRestart(_)) = (&self.engine, &request) {
            self.configured.begin_count();
            self.engine = Ok(EngineProcess::start(self.task, &self.configured, true)?);
            self.bring_ports_up()?;
            return done(&Nothing {});
        }
        let answer = self.engine.as_mut().ok().and_then(|engine| engine.ask(&frame.payload));
        let Some(answer) = answer else {
            self.note_death();
            return self.answer_for_the_dead(&request);
        };
        match (&answer, &request) {
            (Ok(_), LinkRequest::LinkSet(LinkSet { changes })) => {
                self.configured.change(changes, Cause::Request, Realtime::now())?;
            }
            (Ok(_), LinkRequest::LinkTimeline(_)) => {
                self.configured.restore(Realtime::now());
            }
            _ => {}
        }
        answer
    }

    fn answer_for_the_dead(&self, request: &LinkRequest) -> Result<Value, Failure> {
        let why = self.engine.as_ref().err();
        let LinkRequest::Links(_) = request else {
            let why = why.map_or("it has ended", String::as_str);
            return Err(Failure::new("ask the link engine", why)
                .fix("bring the lab up again, which starts it anew"));
        };
        let nothing = Snapshot::default();
        let report = |config: &DirectionConfig| DirectionReport::new(config, &nothing, 0);
        let directions = self.configured.directions().iter().map(report).collect();
        done(&EngineReport::down(why.cloned(), Realtime::now().ns(), directions))
    }

    /// Bring the ports up, but for those of ends that are to be down.
    fn bring_ports_up(&self) -> Result<(), Failure> {
        let directions = self.configured.directions().iter();
        let up = directions.filter(|direction| direction.state() != LinkState::Down);
        set_ports(up.map(|direction| direction.port.as_str()), true)
    }

    /// Record the engine's end and set the ports down.
    fn note_death(&mut self) {
        let Ok(engine) = &mut self.engine else { return };
        let mut why = engine.why_it_ended();
        if let Err(failure) = take_ports_down(self.task.links) {
            why = format!("{why}; {failure}");
        }
        warn!(why, "link engine ended");
        self.engine = Err(why);
    }
}

const SIGKILL: i32 = 9;
/// The time limit for an engine's answer; after it the engine is taken to hang.
const PATIENCE: Duration = Duration::from_secs(10);

/// The engine's process.
pub(super) struct EngineProcess {
    pid: i32,
    running: PidFd,
    control: File,
    /// The reason for its end, if it sent one in place of an answer.
    last_words: Option<String>,
}

impl EngineProcess {
    /// Start an engine, which carries links from now on. `again` means in place of one that has ended.
    pub(super) fn start(
        task: EngineTask,
        configured: &ConfiguredConditions,
        again: bool,
    ) -> Result<Self, Failure> {
        let (ours, theirs) = descriptor::stream_pair().context("start the link engine")?;
        let pid = match process::fork().context("start the link engine")? {
            Side::Parent(pid) => pid,
            Side::Child => {
                // If the supervisor's end stayed open here, its death would go unnoticed.
                drop(ours);
                let name = task.name;
                let title = format!("delaylab-agent {name} engine");
                let _ = title::set(&title, &format!("{name} engine"));
                let configured = configured.clone();
                let lived = match task.links.engine {
                    EngineKind::Own => own_engine::live(task, configured, again, theirs),
                    EngineKind::Kernel => kernel_engine::live(task, configured, theirs),
                };
                std::process::exit(i32::from(lived.is_err()));
            }
        };
        drop(theirs);
        let running = PidFd::open(pid).context("start the link engine")?;
        let mut engine = Self { pid, running, control: ours.into(), last_words: None };
        receive(&mut engine.control)?;
        info!(agent = task.name, pid, again, "link engine starts");
        Ok(engine)
    }

    /// Pass on a request, in JSON, and wait for the answer; return `None` if the engine has ended or ends now. Kill an
    /// engine that does not answer within 10 s.
    pub(super) fn ask(&mut self, request: &[u8]) -> Option<Result<Value, Failure>> {
        requests::pass_on(&mut self.control, request).ok()?;
        match poll::wait(&[(self.control.as_fd(), Interest::Read)], Some(PATIENCE)) {
            Ok(ready) if ready[0] => self.hear(),
            Ok(_) => {
                // A late answer would be taken for the answer to another request.
                let why = match self.running.signal(SIGKILL) {
                    Ok(()) => {
                        format!("it has not answered for {} s, and is ended", PATIENCE.as_secs())
                    }
                    Err(error) => error.to_string(),
                };
                Some(Err(Failure::new("ask the link engine", why)))
            }
            Err(error) => Some(Err(Failure::new("ask the link engine", error))),
        }
    }

    /// Read an answer; return `None` if the engine sends the reason for its end instead, or has ended
    /// without.
    fn hear(&mut self) -> Option<Result<Value, Failure>> {
        match requests::hear(&mut self.control).ok()? {
            Reply::Done(value) => Some(Ok(value)),
            Reply::Error(failure) => Some(Err(failure)),
            Reply::Event(why) => {
                self.last_words = Some(why.to_string());
                None
            }
        }
    }

    /// Wait for the engine's end, and return the reason that it sent or else the way it ended.
    fn why_it_ended(&mut self) -> String {
        let ended = process::wait(self.pid).map(|(_, ended)| ended);
        if self.last_words.is_none() {
            self.hear();
        }
        match (ended, &self.last_words) {
            (Some(Ended::Killed(signal)), _) => format!("its engine was killed by signal {signal}"),
            (_, Some(why)) => format!("its engine has ended: {why}"),
            (_, None) => "its engine has ended".to_owned(),
        }
    }

    /// Return a descriptor that becomes readable once the engine has ended.
    pub(super) fn ended(&self) -> BorrowedFd<'_> {
        self.running.as_fd()
    }
}
