//! The engine's process, as its supervisor sees it: how it is begun, asked, and found ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use delaylab_os::poll::{self, Want};
use delaylab_os::process::{self, Ended, PidFd, Side};
use delaylab_os::{pipe, title};
use delaylab_proto::{Failure, Reply};
use serde_json::Value;

use super::asked::Asked;
use super::gates::Agents;
use super::plan::{Carrier, Links};
use super::{engine, kernel};

const SIGKILL: i32 = 9;
/// An engine that has not answered for so long is not going to.
const PATIENCE: Duration = Duration::from_secs(10);

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
pub struct Engine {
    pid: i32,
    running: PidFd,
    control: File,
    /// Why it ends, if it has said so in place of an answer.
    last_words: Option<String>,
}

impl Engine {
    /// Starts it; it carries links from now on. `again`: in place of one that has ended.
    pub fn start(work: Work, asked: &Asked, again: bool) -> Result<Self, Failure> {
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
        let mut engine = Self { pid, running, control: ours.into(), last_words: None };
        super::receive(&mut engine.control)?;
        Ok(engine)
    }

    /// Its answer; `None` if it has ended, or does so now.
    pub fn ask(&mut self, request: &Value) -> Option<Result<Value, Failure>> {
        super::send(&mut self.control, request).ok()?;
        match poll::wait(&[(self.control.as_fd(), Want::Read)], Some(PATIENCE)) {
            Ok(ready) if ready[0] => self.hear(),
            Ok(_) => {
                // An answer that came now would be taken for that to another question.
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

    /// What it answers; `None` if these are its last words, or it has ended without.
    fn hear(&mut self) -> Option<Result<Value, Failure>> {
        match super::hear(&mut self.control).ok()? {
            Reply::Done(value) => Some(Ok(value)),
            Reply::Error(failure) => Some(Err(failure)),
            Reply::Event(why) => {
                let failure = serde_json::from_value(why).ok();
                self.last_words = failure.map(|failure: Failure| failure.to_string());
                None
            }
        }
    }

    /// What it said last, or else how it ended; waits for its end.
    pub fn why_it_ended(&mut self) -> String {
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

    /// Readable once it has ended.
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.running.as_fd()
    }
}
