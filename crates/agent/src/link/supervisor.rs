//! The agent of a host's links: answers for its engine, and when that ends takes the ports down, so that
//! whoever is behind them sees that there is no link.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use delaylab_os::poll::{self, Want};
use delaylab_os::process::{self, Ended, PidFd, Side};
use delaylab_os::{clock, pipe, title};
use delaylab_proto::{Failure, Frame, Reply, read_frame};
use serde_json::{Value, json};

use super::asked::Asked;
use super::counts::Snapshot;
use super::engine;
use super::gates::Agents;
use super::kernel;
use super::plan::{Carrier, Links};
use super::request::Request;
use crate::listen;

const SIGKILL: i32 = 9;
/// An engine that has not answered for so long is not going to.
const PATIENCE: Duration = Duration::from_secs(10);

/// The agent, and its engine.
pub struct Supervisor<'a> {
    work: Work<'a>,
    /// What is asked, as far as it came by requests: what a new engine begins with.
    asked: Asked,
    engine: Result<Engine, String>,
    sessions: Vec<Session>,
}

/// What an engine is to do.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The agent's name.
    pub name: &'a str,
    pub links: &'a Links,
    /// The CPUs of the thread that forwards; `None` for any.
    pub cpus: Option<&'a [usize]>,
    /// Where nodes' own interfaces are.
    pub agents: &'a Agents,
}

/// The engine's process.
struct Engine {
    pid: i32,
    running: PidFd,
    control: File,
}

/// The process of a session, and where it asks.
struct Session {
    pid: i32,
    requests: File,
}

impl<'a> Supervisor<'a> {
    /// Starts the engine in the network where this process is; it forwards from now on.
    pub fn start(work: Work<'a>) -> Result<Self, Failure> {
        let asked = Asked::new(work.links)?;
        let engine = Ok(Engine::start(work, &asked, false)?);
        Ok(Self { work, asked, engine, sessions: Vec::new() })
    }

    /// Serves everyone who connects, for ever.
    pub fn serve(mut self, listener: &UnixListener) -> Result<(), Failure> {
        let name = self.work.name;
        let failed = |error: io::Error| Failure::new(format!("serve {name}"), error);
        loop {
            let mut on = vec![(listener.as_fd(), Want::Read)];
            on.extend(self.sessions.iter().map(|session| (session.requests.as_fd(), Want::Read)));
            on.extend(self.engine.iter().map(|engine| (engine.running.as_fd(), Want::Read)));
            let ready = poll::wait(&on, None).map_err(failed)?;
            if ready.get(self.sessions.len() + 1) == Some(&true) {
                self.note_death();
            }
            if ready[0] {
                self.admit(listener).map_err(failed)?;
            }
            let count = ready.len().min(self.sessions.len() + 1) - 1;
            for index in (0..count).rev().filter(|index| ready[index + 1]) {
                self.hear(index);
            }
        }
    }

    /// Starts a process for a session.
    fn admit(&mut self, listener: &UnixListener) -> io::Result<()> {
        // A client that has already gone again is no reason to end.
        let Ok((stream, _)) = listener.accept() else { return Ok(()) };
        let (ours, theirs) = pipe::stream()?;
        let pid = listen::start(stream.into(), Some(theirs))?;
        self.sessions.push(Session { pid, requests: ours.into() });
        Ok(())
    }

    /// A session asks, or has ended.
    fn hear(&mut self, index: usize) {
        let frame = read_frame(&mut self.sessions[index].requests);
        let heard = match frame {
            Ok(Some(frame)) => {
                let reply = match self.answer(&frame) {
                    Ok(done) => Reply::Done(done),
                    Err(failure) => Reply::Error(failure),
                };
                super::send(&mut self.sessions[index].requests, &reply).is_ok()
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
        let value: Value = serde_json::from_slice(&frame.payload)
            .map_err(|error| Failure::new("read a request about links", error))?;
        let request = Request::read(&value)?;
        if let (Err(_), Request::LinkRestart {}) = (&self.engine, &request) {
            self.engine = Ok(Engine::start(self.work, &self.asked, true)?);
            super::set_ports(self.work.links, true)?;
            return Ok(json!({}));
        }
        let asked = match &mut self.engine {
            Ok(engine) => engine.ask(&value),
            Err(why) => {
                let why = why.clone();
                return self.answer_for_the_dead(&request, &why);
            }
        };
        if let (Ok(_), Request::LinkSet { changes }) = (&asked, &request) {
            self.asked.change(changes)?;
        }
        asked
    }

    fn answer_for_the_dead(&self, request: &Request, why: &str) -> Result<Value, Failure> {
        let Request::Links { .. } = request else {
            return Err(Failure::new("ask the link engine", why)
                .fix("bring the lab up again, which starts it anew"));
        };
        let nothing = Snapshot::default();
        let directions = self.asked.directions().iter().map(|way| way.report(&nothing, 0));
        let now_ns = clock::realtime_ns();
        Ok(json!({
            "state": "down", "why": why, "pid": null, "realtime": false, "notes": [],
            "since_ns": now_ns, "now_ns": now_ns,
            "memory": {"used": 0, "bound": 0, "peak": 0, "warn": false},
            "pauses": {"count": 0, "longest_ns": 0}, "dropped_ring": 0, "unknown_port": 0,
            "directions": directions.collect::<Vec<_>>(),
        }))
    }

    /// The engine has ended: so do its links.
    fn note_death(&mut self) {
        let Ok(engine) = &mut self.engine else { return };
        let mut why = engine.why_it_ended();
        if let Err(failure) = super::set_ports(self.work.links, false) {
            why = format!("{why}; {failure}");
        }
        self.engine = Err(why);
    }
}

impl Engine {
    fn start(work: Work, asked: &Asked, again: bool) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new("start the link engine", error);
        let (ours, theirs) = pipe::stream().map_err(failed)?;
        let pid = match process::fork().map_err(failed)? {
            Side::Parent(pid) => pid,
            Side::Child => {
                // With the supervisor's end open here, its death would go unnoticed.
                drop(ours);
                let name = work.name;
                let title = format!("delaylab-agent {name} engine");
                let _ = title::set(&title, &format!("{name} engine"));
                let asked = asked.clone();
                let lived = match work.links.engine {
                    Carrier::Own => engine::live(work, asked, again, theirs),
                    Carrier::Kernel => kernel::live(work.links, asked, theirs),
                };
                std::process::exit(i32::from(lived.is_err()));
            }
        };
        drop(theirs);
        let running = PidFd::open(pid).map_err(failed)?;
        let mut engine = Self { pid, running, control: ours.into() };
        super::receive(&mut engine.control)?;
        Ok(engine)
    }

    fn ask(&mut self, request: &Value) -> Result<Value, Failure> {
        let failed = |error: io::Error| Failure::new("ask the link engine", error);
        super::send(&mut self.control, request)?;
        let ready = poll::wait(&[(self.control.as_fd(), Want::Read)], Some(PATIENCE));
        if !ready.map_err(failed)?[0] {
            // An answer that came now would be taken for that to another question.
            self.running.signal(SIGKILL).map_err(failed)?;
            let why = format!("it has not answered for {} s and was ended", PATIENCE.as_secs());
            return Err(Failure::new("ask the link engine", why));
        }
        super::receive(&mut self.control)
    }

    /// What it said last, or else how it ended.
    fn why_it_ended(&mut self) -> String {
        let ended = process::wait(self.pid).map(|(_, ended)| ended);
        let said = super::receive(&mut self.control).err();
        match (ended, said) {
            (Some(Ended::Killed(signal)), _) => format!("its engine was killed by signal {signal}"),
            (_, Some(failure)) => format!("its engine has ended: {failure}"),
            (_, None) => "its engine has ended".to_owned(),
        }
    }
}
