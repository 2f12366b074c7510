//! The loop of a probe: send due packets, receive replies, wait.

use super::live::Live;
use super::log::Log;
use super::pace::Pace;
use super::request::Request;
use super::warning::Warning;
use crate::session::{Order, Session};
use delaylab_os::process::scheduling;
use delaylab_os::time::clock::realtime_ns;
use delaylab_proto::{Context, Failure};
use std::os::fd::BorrowedFd;

/// A path for packets to the responder and back.
pub trait ProbePath {
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
    fn by(&self) -> &'static str;
    /// Add doubts about the measurement.
    fn warn(&self, warnings: &mut Vec<Warning>);
}

/// The time from `ready` to the first packet: 1 ms.
const LEAD_NS: i64 = 1_000_000;
/// The time to wait for duplicates once every packet has its reply: 2 ms.
const GRACE_NS: i64 = 2_000_000;
/// The time without a reply after which a probe without interval gives its window up for lost: 20 ms.
const STALL_NS: i64 = 20_000_000;

struct Schedule {
    start: i64,
    interval: i64,
    count: u32,
    batch: u32,
    next: u32,
    /// Packets of a probe without interval that are no longer awaited.
    given_up: u32,
    last_sent: i64,
    last_event: i64,
}

impl Schedule {
    /// Return the place after the last packet to send now.
    fn due(&self, now: i64, log: &Log) -> u32 {
        if now < self.start {
            return self.next;
        }
        let due = if self.interval > 0 {
            u32::try_from((now - self.start) / self.interval + 1).unwrap_or(u32::MAX)
        } else {
            let window = self.batch.saturating_sub(log.outstanding().saturating_sub(self.given_up));
            self.next.saturating_add(window)
        };
        due.min(self.count).min(self.next.saturating_add(self.batch))
    }

    /// Return the time at which the next packet is due; `None` if that depends on replies, or all are sent.
    fn next_due(&self, log: &Log) -> Option<i64> {
        (self.next < self.count && self.interval > 0)
            .then(|| log.entries[self.next as usize].intended)
    }
}

/// Run the probe to its end: until all packets are sent and either all have replies or `linger_ns` is over,
/// or until the client stops it.
pub fn run(
    request: &Request,
    path: &mut impl ProbePath,
    log: &mut Log,
    session: &mut Session,
    realtime: bool,
) -> Result<(), Failure> {
    sharpen_timers()?;
    let start = realtime_ns() + LEAD_NS;
    for (entry, i) in log.entries.iter_mut().zip(0i64..) {
        entry.intended = start + i * request.interval_ns;
    }
    let mut schedule = Schedule {
        start,
        interval: request.interval_ns,
        count: request.count,
        batch: u32::from(request.batch),
        next: 0,
        given_up: 0,
        last_sent: start,
        last_event: start,
    };
    let mut pace = Pace::new(realtime, start);
    let mut live = Live::new(request);
    loop {
        let now = realtime_ns();
        let sent = send_due(&mut schedule, path, log, now)?;
        let received = path.receive(log)?;
        if received > 0 {
            schedule.last_event = now;
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
        let end = end_of(&schedule, request, log, now);
        if end.is_some_and(|end| now >= end) {
            live.finish(log, session)?;
            return Ok(());
        }
        if sent && request.interval_ns == 0 {
            continue;
        }
        let next = wake_at(&mut schedule, log, end, now);
        live.report(log, session, schedule.next, now, next)?;
        let next = live.due(log, now, next);
        let next = path.gives_up_at().map_or(next, |time| next.min(time));
        let woken = pace.wait(path.fd(), session.input(), now, next)?;
        if woken && stopped(session)? {
            path.receive(log)?;
            path.collect(log)?;
            live.finish(log, session)?;
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
    let due = schedule.due(now, log);
    if due <= schedule.next {
        return Ok(false);
    }
    if schedule.interval == 0 {
        for entry in &mut log.entries[schedule.next as usize..due as usize] {
            entry.intended = now;
        }
    }
    let first = schedule.next;
    schedule.next = path.send(log, first, due)?;
    schedule.last_sent = now;
    schedule.last_event = now;
    Ok(schedule.next > first)
}

/// Return the time at which the probe is over, once everything is sent.
fn end_of(schedule: &Schedule, request: &Request, log: &Log, now: i64) -> Option<i64> {
    if schedule.next < schedule.count {
        return None;
    }
    // If the kernel took no packet there is nothing to wait for.
    if log.sent == 0 {
        return Some(now);
    }
    let linger = if log.outstanding() == 0 {
        GRACE_NS.min(request.linger_ns)
    } else if request.linger_rtt && log.replied > 0 {
        return Some(schedule.last_sent + (2 * log.largest_rtt).max(schedule.interval));
    } else {
        request.linger_ns
    };
    Some(schedule.last_event + linger)
}

/// Return the latest time of the next wake-up. A probe without interval gives up the packets of a window that
/// nobody answered.
fn wake_at(schedule: &mut Schedule, log: &Log, end: Option<i64>, now: i64) -> i64 {
    if let Some(end) = end {
        return end;
    }
    schedule.next_due(log).unwrap_or_else(|| {
        if now - schedule.last_event >= STALL_NS {
            schedule.given_up = log.outstanding();
        }
        schedule.last_event.max(schedule.start - STALL_NS) + STALL_NS
    })
}

fn stopped(session: &mut Session) -> Result<bool, Failure> {
    let orders = session.orders()?;
    Ok(orders.iter().any(|order| matches!(order, Order::Stop | Order::Closed)))
}

/// Remove the thread's timer slack, so that a sleep ends on time.
fn sharpen_timers() -> Result<(), Failure> {
    scheduling::no_timer_slack().context("set timer slack")
}
