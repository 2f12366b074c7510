//! The loop of a probe: send due packets, receive replies, wait.

use super::live::Live;
use super::log::Log;
use super::pace::Pace;
use super::schedule::Schedule;
use crate::protocol::measuring::{By, Probe, Warning};
use crate::protocol::running::Order;
use crate::session::Session;
use crate::timing::steady;
use delaylab_os::process::scheduling;
use delaylab_proto::{Context, Failure};
use std::os::fd::BorrowedFd;

/// A path for packets to the responder and back.
pub(super) trait ProbePath {
    /// Offer the packets at places `first..end` to the kernel. Return the first place to be offered again.
    /// Sent and refused packets are recorded in the log.
    fn send(&mut self, log: &mut Log, first: u32, end: u32) -> Result<u32, Failure>;
    /// Receive pending replies and return the number of packets.
    fn receive(&mut self, log: &mut Log) -> Result<usize, Failure>;
    /// Receive transmit stamps and errors.
    fn collect(&mut self, log: &mut Log) -> Result<(), Failure>;
    /// Return a descriptor that becomes readable when a reply arrives.
    fn fd(&self) -> BorrowedFd<'_>;
    /// Return the time at which the next packet is to be given up for lost, if the path itself decides that.
    fn gives_up_at(&self) -> Option<i64> {
        None
    }
    /// Return the source of the kernel's stamps: `tcx`, `ring` or `socket`.
    fn by(&self) -> By;
    /// Add doubts about the measurement.
    fn warn(&self, warnings: &mut Vec<Warning>);
}

/// The time from `ready` to the first packet: 1 ms.
const LEAD_NS: i64 = 1_000_000;

/// Run the probe to its end: until all packets are sent and either all have replies or `linger_ns` is over,
/// or until the client stops it.
pub(super) fn run(
    request: &Probe,
    path: &mut impl ProbePath,
    log: &mut Log,
    session: &mut Session,
    realtime: bool,
) -> Result<(), Failure> {
    sharpen_timers()?;
    steady::start();
    let start = steady::now_ns() + LEAD_NS;
    for (entry, i) in log.entries.iter_mut().zip(0i64..) {
        entry.intended = start + i * request.interval_ns;
    }
    let mut schedule = Schedule::new(request, start);
    let mut pace = Pace::new(realtime, start);
    let mut live = Live::new(request);
    loop {
        let now = steady::now_ns();
        log.clock_steps.look(now);
        let sent = send_due(&mut schedule, path, log, now)?;
        let replied = log.replied;
        let received = path.receive(log)?;
        // Other packets that arrive at the port must not make the probe wait longer.
        if log.replied > replied {
            schedule.note_reply(now);
        }
        if sent && received == 0 {
            // The reply may be on its way: do nothing that could delay its stamp.
            pace.expect_reply(now);
            continue;
        }
        if received == 0 && pace.spins(now, schedule.next_due(log), log.outstanding() > 0) {
            continue;
        }
        path.collect(log)?;
        let end = schedule.end(request, log, now);
        if end.is_some_and(|end| now >= end) {
            live.finish(log, session)?;
            return Ok(());
        }
        if sent && schedule.is_closed_loop() && !schedule.has_room(now, log) {
            continue;
        }
        let next = schedule.wake_at(log, end, now);
        live.report(log, session, schedule.next, now, next)?;
        let next = live.due(log, now, next);
        let next = path.gives_up_at().map_or(next, |time| next.min(time));
        let woken = pace.wait(path.fd(), session.input(), now, next)?;
        if woken && stopped(session)? {
            path.receive(log)?;
            path.collect(log)?;
            log.note_stop(now - schedule.patience(log));
            live.stop(log, session)?;
            return Ok(());
        }
    }
}

/// Send the packets that are due; return true if there were any.
fn send_due(
    schedule: &mut Schedule,
    path: &mut impl ProbePath,
    log: &mut Log,
    now: i64,
) -> Result<bool, Failure> {
    schedule.give_up_late(log, now);
    let due = schedule.due(now, log);
    if due <= schedule.next {
        return Ok(false);
    }
    let first = schedule.next;
    if schedule.is_closed_loop() {
        let intended = schedule.had_room(now, log);
        for entry in &mut log.entries[first as usize..due as usize] {
            entry.intended = intended;
        }
    }
    let taken = path.send(log, first, due)?;
    schedule.note_sent(log, now, due, taken);
    Ok(taken > first)
}

fn stopped(session: &mut Session) -> Result<bool, Failure> {
    let orders = session.orders()?;
    Ok(orders.iter().any(|order| matches!(order, Order::Stop | Order::Closed)))
}

/// Remove the thread's timer slack, so that a sleep ends on time.
fn sharpen_timers() -> Result<(), Failure> {
    scheduling::no_timer_slack().context("set timer slack")
}
