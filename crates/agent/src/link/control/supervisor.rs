//! The agent of a host's links: it answers for its engine, and when the engine ends it sets the ports down,
//! so that the nodes behind them see no carrier.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;

use delaylab_os::files::descriptor;
use delaylab_os::files::poll::Interest;
use delaylab_os::{clock, process};
use delaylab_proto::{Failure, Frame, read_frame};
use serde_json::Value;
use tracing::warn;

use super::engine_process::EngineProcess;
use super::engine_task::EngineTask;
use super::messages::{EngineReply, receive, send};
use super::ports::set_ports;
use super::requests::{done, read};
use crate::link::configured::{Cause, ConfiguredConditions, DirectionConfig};
use crate::link::data::counts::Snapshot;
use crate::protocol::links::{DirectionReport, EngineReport, LinkRequest, LinkSet};
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
    sessions: Vec<Session>,
}

/// The process of a session, and the stream of its requests.
struct Session {
    pid: i32,
    requests: File,
}

impl<'a> Supervisor<'a> {
    /// Start the engine in this process's network namespace; it forwards from now on.
    pub(crate) fn start(task: EngineTask<'a>) -> Result<Self, Failure> {
        let configured = ConfiguredConditions::new(task.links)?;
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
                self.sessions.extend(pid.map(|pid| Session { pid, requests: ours.into() }));
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
            set_ports(self.task.links, true)?;
            return done(&Nothing {});
        }
        let answer = self.engine.as_mut().ok().and_then(|engine| engine.ask(&frame.payload));
        let Some(answer) = answer else {
            self.note_death();
            return self.answer_for_the_dead(&request);
        };
        match (&answer, &request) {
            (Ok(_), LinkRequest::LinkSet(LinkSet { changes })) => {
                self.configured.change(changes, Cause::Request)?;
            }
            (Ok(_), LinkRequest::LinkTimeline(_)) => {
                self.configured.restore();
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
        done(&EngineReport::down(why.cloned(), clock::realtime_ns(), directions))
    }

    /// Record the engine's end and set the ports down.
    fn note_death(&mut self) {
        let Ok(engine) = &mut self.engine else { return };
        let mut why = engine.why_it_ended();
        if let Err(failure) = set_ports(self.task.links, false) {
            why = format!("{why}; {failure}");
        }
        warn!(why, "link engine ended");
        self.engine = Err(why);
    }
}
