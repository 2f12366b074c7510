//! Requests to an agent that carries links, and how an engine of either kind serves them.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::time::clock;
use delaylab_proto::{Context, Failure, Reply, read_frame};
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::info;

use super::messages::send;
use super::report::{DirectionReport, EngineReport};
use super::timeline::Timeline;
use crate::link::configured::{Cause, Changed, ConfiguredConditions};
use crate::link::plan::Change;

/// A request about links.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Report the configuration and the counters; with `reset`, then reset the counters.
    Links {
        #[serde(default)]
        reset: bool,
    },
    /// Change conditions: all changes, or none if one of them is impossible.
    LinkSet { changes: Vec<Change> },
    /// Return to the conditions of the plan, and restart the timeline.
    LinkTimeline {},
    /// Restart the engine if it has ended.
    LinkRestart {},
}

impl Request {
    /// Read a request from its JSON.
    pub fn read(bytes: &[u8]) -> Result<Self, Failure> {
        // By a value: errors of a text would name a line and a column, which users have not written.
        let request: Value = serde_json::from_slice(bytes).context("read a request about links")?;
        Self::deserialize(request).context("read a request about links")
    }
}

/// An engine that carries links: delaylab's own or the kernel's.
pub trait LinkEngine {
    /// Return the configuration and counters, as `links` reports them; with `reset`, then reset the counters.
    fn report(&mut self, reset: bool) -> Result<EngineReport, Failure>;

    /// Return the reports of the directions alone.
    fn directions(&mut self) -> Result<Vec<DirectionReport>, Failure>;

    /// Return the configuration.
    fn configured(&self) -> &ConfiguredConditions;

    /// Make all changes of this new configuration, or none if one of them is impossible.
    fn apply(
        &mut self,
        configured: ConfiguredConditions,
        changed: Vec<Changed>,
    ) -> Result<(), Failure>;

    /// Check that all links are in place; an error ends them.
    fn check(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Return a descriptor that becomes readable when a check is needed.
    fn changed(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Serve until the other end of `control` closes or something fails.
pub fn serve_requests(
    links: &mut impl LinkEngine,
    mut timeline: Timeline<'_>,
    control: &mut File,
) -> Result<(), Failure> {
    loop {
        links.check()?;
        let left = timeline.next_ns().map(|at_ns| (at_ns - clock::monotonic_ns()).max(0) as u64);
        let mut on = vec![(control.as_fd(), Interest::Read)];
        on.extend(links.changed().map(|fd| (fd, Interest::Read)));
        if poll::wait(&on, left.map(Duration::from_nanos)).context("take requests about links")?[0]
        {
            let frame = read_frame(control).context("take requests about links")?;
            let Some(frame) = frame else { return Ok(()) };
            let reply = match answer(links, &mut timeline, &frame.payload) {
                Ok(done) => Reply::Done(done),
                Err(failure) => Reply::Error(failure),
            };
            send(control, &reply)?;
        }
        while let Some(changes) = timeline.take(clock::monotonic_ns()) {
            change(links, changes, Cause::Timeline)?;
        }
    }
}

/// Make all changes, or none if one of them is impossible.
fn change(links: &mut impl LinkEngine, changes: &[Change], cause: Cause) -> Result<(), Failure> {
    let mut configured = links.configured().clone();
    let changed = configured.change(changes, cause)?;
    links.apply(configured, changed)?;
    for Change { link, node, set } in changes {
        info!(link, node, %set, ?cause, "conditions changed");
    }
    Ok(())
}

/// Return to the conditions of the plan.
fn restore(links: &mut impl LinkEngine) -> Result<(), Failure> {
    let mut configured = links.configured().clone();
    let changed = configured.restore()?;
    links.apply(configured, changed)
}

fn answer(
    links: &mut impl LinkEngine,
    timeline: &mut Timeline<'_>,
    request: &[u8],
) -> Result<Value, Failure> {
    match Request::read(request)? {
        Request::Links { reset } => serde_json::to_value(links.report(reset)?).context("answer"),
        Request::LinkSet { changes } => {
            change(links, &changes, Cause::Request)?;
            Ok(json!({"directions": links.directions()?}))
        }
        Request::LinkTimeline {} => {
            restore(links)?;
            timeline.restart(clock::monotonic_ns());
            Ok(json!({}))
        }
        Request::LinkRestart {} => Ok(json!({})),
    }
}
