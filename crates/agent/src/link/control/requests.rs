//! Requests to an agent that carries links, and how an engine of either kind serves them.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::time::clock;
use delaylab_proto::{Context, Failure, read_frame};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::info;

use super::messages::{EngineReply, send};
use super::timeline::Timeline;
use crate::link::configured::{Cause, Changed, ConfiguredConditions};
use crate::protocol::links::{
    Change, DirectionReport, EngineReport, LinkRequest, LinkSet, LinkSetDone, Links,
};
use crate::protocol::programs::Nothing;

/// Read a request from its JSON.
pub fn read(bytes: &[u8]) -> Result<LinkRequest, Failure> {
    // By a value: errors of a text would name a line and a column, which users have not written.
    let request: Value = serde_json::from_slice(bytes).context("read a request about links")?;
    LinkRequest::deserialize(request).context("read a request about links")
}

/// Return an answer in the form of a [`Reply`].
pub fn done(answer: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(answer).context("answer")
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
                Ok(done) => EngineReply::Done(done),
                Err(failure) => EngineReply::Error(failure),
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
        info!(link, node, ?set, ?cause, "conditions changed");
    }
    Ok(())
}

/// Return to the conditions of the plan.
fn restore(links: &mut impl LinkEngine) -> Result<(), Failure> {
    let mut configured = links.configured().clone();
    let changed = configured.restore();
    links.apply(configured, changed)
}

fn answer(
    links: &mut impl LinkEngine,
    timeline: &mut Timeline<'_>,
    request: &[u8],
) -> Result<Value, Failure> {
    match read(request)? {
        LinkRequest::Links(Links { reset }) => done(&links.report(reset)?),
        LinkRequest::LinkSet(LinkSet { changes }) => {
            change(links, &changes, Cause::Request)?;
            done(&LinkSetDone { directions: links.directions()? })
        }
        LinkRequest::LinkTimeline(_) => {
            restore(links)?;
            timeline.restart(clock::monotonic_ns());
            done(&Nothing {})
        }
        LinkRequest::LinkRestart(_) => done(&Nothing {}),
    }
}
