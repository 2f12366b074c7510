//! The engine's process as its supervisor sees it: starting it, sending it requests, and noticing its end.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use delaylab_os::files::descriptor;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::{self, Ended, PidFd, Side, title};
use delaylab_proto::{Context, Failure, Reply};
use serde_json::Value;
use tracing::info;

use super::engine_task::EngineTask;
use super::messages::{self, receive};
use super::{kernel_engine, own_engine};
use crate::link::configured::ConfiguredConditions;
use crate::protocol::links::EngineKind;

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
                    EngineKind::Kernel => kernel_engine::live(task.links, configured, theirs),
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
        messages::pass_on(&mut self.control, request).ok()?;
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
        match messages::hear(&mut self.control).ok()? {
            Reply::Done(value) => Some(Ok(value)),
            Reply::Error(failure) => Some(Err(failure)),
            Reply::Event(why) => {
                self.last_words = Some(why.to_string());
                None
            }
        }
    }

    /// Wait for the engine's end, and return the reason that it sent or else the way it ended.
    pub(super) fn why_it_ended(&mut self) -> String {
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
