//! Requests to an agent that carries links and the changes of its timeline, and how an engine of either kind serves
//! them.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use delaylab_os::clock::{Monotonic, Realtime};
use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure, Frame, Kind, Reply, read_frame, write_frame};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::info;

use crate::link::configured::{Cause, Changed, ConfiguredConditions};
use crate::protocol::links::{
    Change, DirectionReport, EngineReport, LinkPace, LinkRequest, LinkSet, LinkSetDone,
    LinkTimeline, Links, Moment,
};
use crate::protocol::passages::{LinkPassages, LinkPassagesDone, PassageReport, WantedPacket};
use crate::protocol::programs::Nothing;

/// Read a request from its JSON.
pub(super) fn read(bytes: &[u8]) -> Result<LinkRequest, Failure> {
    // By a value: errors of a text would name a line and a column, which users have not written.
    let request: Value = serde_json::from_slice(bytes).context("read a request about links")?;
    LinkRequest::deserialize(request).context("read a request about links")
}

/// Return an answer in the form of a [`Reply`].
pub(super) fn done(answer: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(answer).context("answer")
}

/// An engine that carries links: delaylab's own or the kernel's.
pub(super) trait LinkEngine {
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

    /// Let frames be late, or not any more; the kernel has no pace to change.
    fn ease(&mut self, _eased: bool) -> Result<(), Failure> {
        Ok(())
    }

    /// Return the passages of packets of probes; the kernel keeps none.
    fn passages(&mut self, _packets: &[WantedPacket]) -> Result<Vec<PassageReport>, Failure> {
        Ok(Vec::new())
    }

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
pub(super) fn serve_requests(
    links: &mut impl LinkEngine,
    mut timeline: Timeline<'_>,
    control: &mut File,
) -> Result<(), Failure> {
    loop {
        links.check()?;
        let left = timeline.next().map(|at| (at - Monotonic::now()).to_wait());
        let mut on = vec![(control.as_fd(), Interest::Read)];
        on.extend(links.changed().map(|fd| (fd, Interest::Read)));
        if poll::wait(&on, left).context("take requests about links")?[0] {
            let frame = read_frame(control).context("take requests about links")?;
            let Some(frame) = frame else { return Ok(()) };
            let reply = match answer(links, &mut timeline, &frame.payload) {
                Ok(done) => EngineReply::Done(done),
                Err(failure) => EngineReply::Error(failure),
            };
            send(control, &reply)?;
        }
        while let Some(changes) = timeline.take(Monotonic::now()) {
            change(links, changes, Cause::Timeline)?;
        }
    }
}

/// Make all changes, or none if one of them is impossible.
fn change(links: &mut impl LinkEngine, changes: &[Change], cause: Cause) -> Result<(), Failure> {
    let mut configured = links.configured().clone();
    let changed = configured.change(changes, cause, Realtime::now())?;
    links.apply(configured, changed)?;
    for Change { link, node, receives, set } in changes {
        info!(link, node, receives, ?set, ?cause, "conditions changed");
    }
    Ok(())
}

/// Return to the conditions of the plan.
fn restore(links: &mut impl LinkEngine) -> Result<(), Failure> {
    let mut configured = links.configured().clone();
    let changed = configured.restore(Realtime::now());
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
        LinkRequest::LinkTimeline(LinkTimeline { begins_ns, hold }) => {
            restore(links)?;
            let now = Monotonic::now();
            let ahead_ns = begins_ns.map_or(0, |begins_ns| begins_ns - Realtime::now().ns());
            timeline.restart(Monotonic::from_ns(now.ns().saturating_add(ahead_ns)));
            if hold {
                timeline.hold();
            }
            done(&Nothing {})
        }
        LinkRequest::LinkPace(LinkPace { eased }) => {
            links.ease(eased)?;
            done(&Nothing {})
        }
        LinkRequest::LinkPassages(LinkPassages { packets }) => {
            done(&LinkPassagesDone { passages: links.passages(&packets)? })
        }
        LinkRequest::LinkRestart(_) => done(&Nothing {}),
    }
}

/// The timeline and its next moment.
pub(super) struct Timeline<'a> {
    moments: &'a [Moment],
    began: Monotonic,
    next: usize,
}

impl<'a> Timeline<'a> {
    /// Build a timeline of moments in order, counted from `began`.
    pub(super) fn new(moments: &'a [Moment], began: Monotonic) -> Self {
        Self { moments, began, next: 0 }
    }

    /// Restart the timeline, counted from `begins`.
    pub(super) fn restart(&mut self, begins: Monotonic) {
        (self.began, self.next) = (begins, 0);
    }

    /// Leave all moments out until the next restart.
    pub(super) fn hold(&mut self) {
        self.next = self.moments.len();
    }

    /// Return the time of the next moment.
    pub(super) fn next(&self) -> Option<Monotonic> {
        let moment = self.moments.get(self.next)?;
        Some(Monotonic::from_ns(self.began.ns().saturating_add_unsigned(moment.at_ns)))
    }

    /// Return the changes of the next moment once its time has come.
    pub(super) fn take(&mut self, now: Monotonic) -> Option<&'a [Change]> {
        if self.next()? > now {
            return None;
        }
        self.next += 1;
        Some(&self.moments[self.next - 1].changes)
    }
}

/// A reply of an engine. An event is the reason why it ends.
pub(super) type EngineReply = Reply<Failure, Value>;

/// Send a request or reply to another process of the agent.
pub(super) fn send(to: &mut File, message: &impl serde::Serialize) -> Result<(), Failure> {
    let bytes = serde_json::to_vec(message).context("ask")?;
    pass_on(to, &bytes)
}

/// Pass on a message that came as JSON.
pub(super) fn pass_on(to: &mut File, bytes: &[u8]) -> Result<(), Failure> {
    write_frame(to, &Frame::new(Kind::Message, bytes)).context("ask")
}

/// Block until the reply to a request.
pub(super) fn receive(from: &mut File) -> Result<Value, Failure> {
    match hear(from)? {
        Reply::Done(value) => Ok(value),
        Reply::Error(failure) | Reply::Event(failure) => Err(failure),
    }
}

/// Block until the next message of another process of the agent.
pub(super) fn hear(from: &mut File) -> Result<EngineReply, Failure> {
    let what = "wait for an answer about links";
    let frame = read_frame(from).context(what)?;
    let frame = frame.ok_or_else(|| Failure::new(what, "the other process has ended"))?;
    serde_json::from_slice(&frame.payload).context(what)
}

/// Tell the supervisor that the engine carries links from now on.
pub(super) fn say_ready(to: &mut File) -> Result<(), Failure> {
    send(to, &Reply::<Failure, _>::Done(Nothing {}))
}

/// Tell the supervisor why the engine cannot start.
pub(super) fn say_refused(to: &mut File, failure: Failure) -> Result<(), Failure> {
    send(to, &Reply::<Failure, Nothing>::Error(failure))
}

/// Send the reason why an engine ends to its supervisor, which takes it in place of any answer.
pub(super) fn say_why(to: &mut File, failure: &Failure) {
    // Without a supervisor nobody needs to know.
    let _ = send(to, &Reply::<_, Nothing>::Event(failure));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_order_and_again_after_a_restart() {
        let at = Monotonic::from_ns;
        let moment = |at_ns| Moment { at_ns, changes: Vec::new() };
        let moments = [moment(0), moment(5), moment(5)];
        let mut timeline = Timeline::new(&moments, at(100));
        assert!(timeline.take(at(100)).is_some() && timeline.take(at(104)).is_none());
        assert_eq!(timeline.next(), Some(at(105)));
        assert!(timeline.take(at(105)).is_some() && timeline.take(at(105)).is_some());
        assert_eq!(timeline.next(), None);
        timeline.restart(at(200));
        assert_eq!(timeline.next(), Some(at(200)));
        timeline.hold();
        assert_eq!(timeline.next(), None);
        timeline.restart(at(300));
        assert_eq!(timeline.next(), Some(at(300)));
    }
}
