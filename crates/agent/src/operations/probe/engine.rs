//! The loop of a probe: send due packets, receive replies, wait.

use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;

use delaylab_os::clock::{Monotonic, Span};
use delaylab_os::process::scheduling;
use delaylab_proto::{Context, Failure};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::live::Live;
use super::log::Log;
use super::parts::Parts;
use super::schedule::Schedule;
use crate::protocol::measuring::{By, Probe, Warning};
use crate::session::Session;
use crate::timing::clock_steps::ClockSteps;
use crate::timing::pace::{REST, RealTimeBudget};

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
    fn gives_up_at(&self) -> Option<Monotonic> {
        None
    }
    /// Return true if it is still at work although each packet has a reply: on the rest of an answer.
    fn is_busy(&self) -> bool {
        false
    }
    /// Return the source of the kernel's stamps: `tcx`, `ring` or `socket`.
    fn by(&self) -> By;
    /// Add doubts about the measurement.
    fn warn(&self, warnings: &mut Vec<Warning>);
}

/// The time from `ready` to the first packet: 1 ms.
const LEAD: Span = Span::from_ns(1_000_000);

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
    log.clock_steps = ClockSteps::start();
    let start = Monotonic::now() + LEAD;
    for (entry, i) in log.entries.iter_mut().zip(0i64..) {
        let i = if request.pairs { i / 2 * 2 } else { i };
        entry.intended = start + Span::from_ns(request.interval_ns) * i;
    }
    let mut schedule = Schedule::new(request, start);
    let mut waiting = Waiting::new(realtime, start);
    let mut live = Live::new(request);
    let mut parts = Parts::new(request);
    loop {
        let now = Monotonic::now();
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
            waiting.expect_reply(now);
            continue;
        }
        if received == 0 && waiting.spins(now, schedule.next_due(log), log.outstanding() > 0) {
            continue;
        }
        path.collect(log)?;
        let mut end = schedule.end(request, log, now);
        if end.is_some_and(|end| now >= end) && path.is_busy() {
            end = path.gives_up_at();
        }
        if end.is_some_and(|end| now >= end) {
            live.finish(log, session)?;
            return Ok(());
        }
        if sent && schedule.is_closed_loop() && !schedule.has_room(now, log) {
            continue;
        }
        let next = schedule.wake_at(log, end, now);
        live.report(log, session, schedule.next, now, next)?;
        parts.report(log, session, schedule.next, now, next)?;
        let next = live.due(log, now, next);
        let next = parts.due(log, schedule.next, now, next);
        let next = path.gives_up_at().map_or(next, |time| next.min(time));
        let woken = waiting.wait(path.fd(), session.input(), now, next)?;
        if woken && session.must_end()? {
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
    now: Monotonic,
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

/// Remove the thread's timer slack, so that a sleep ends on time.
fn sharpen_timers() -> Result<(), Failure> {
    scheduling::no_timer_slack().context("set timer slack")
}

/// The time before a due packet at which the sender wakes up and then spins: the recent wake-up latency and a
/// quarter, within these limits. An idle machine wakes some 40 to 200 µs late.
const MARGIN: RangeInclusive<Span> = Span::from_ns(30_000)..=Span::from_ns(500_000);
/// The time after a packet for which the sender spins for its reply. The stamp of a spinning reader is some
/// 10 µs more accurate than that of a sleeping one, but a far reply is not worth a core.
const REPLY_SPIN: Span = Span::from_ns(200_000);
/// The longest time between two checks for the client's orders: 50 ms.
const ORDERS: Span = Span::from_ns(50_000_000);
/// The time that the thread may run ahead of its rests.
const DEBT: Span = Span::from_ns(5_000_000);

/// Waiting: the sender sleeps while there is time, and spins when a packet is due or a reply is near.
///
/// It keeps the budget of real time ([`RealTimeBudget`]) by short rests that only the client interrupts. Unlike the
/// thread that forwards, it never rests as an ordinary thread: it stays in real time from the first packet to the
/// last, so that all of its stamps are taken alike.
#[derive(Debug)]
pub(super) struct Waiting {
    budget: RealTimeBudget,
    reply_until: Monotonic,
    looked: Monotonic,
    margin: Span,
    /// The time up to which the budget is settled.
    accounted: Monotonic,
}

impl Waiting {
    pub(super) fn new(realtime: bool, now: Monotonic) -> Self {
        Self {
            budget: RealTimeBudget::new(realtime),
            reply_until: now,
            looked: now,
            margin: Span::from_ns(100_000),
            accounted: now,
        }
    }

    /// Expect the reply to a packet just sent at any moment.
    fn expect_reply(&mut self, now: Monotonic) {
        self.reply_until = now + REPLY_SPIN;
    }

    /// Return true if the caller should poll again at once instead of doing anything else.
    pub(super) fn spins(
        &mut self,
        now: Monotonic,
        due: Option<Monotonic>,
        outstanding: bool,
    ) -> bool {
        let near = due.is_some_and(|due| due - now <= self.margin);
        let expecting = outstanding && now < self.reply_until;
        (near || expecting) && now - self.looked < ORDERS && !self.must_rest(now)
    }

    fn must_rest(&mut self, now: Monotonic) -> bool {
        self.budget.spend((now - self.accounted).max(Span::ZERO));
        self.accounted = now;
        self.budget.is_limited() && self.budget.debt() > DEBT
    }

    /// Wait for a packet or an order, but not beyond the margin before `next`. Return true if the client has
    /// sent something.
    pub(super) fn wait(
        &mut self,
        packets: BorrowedFd<'_>,
        orders: BorrowedFd<'_>,
        now: Monotonic,
        next: Monotonic,
    ) -> Result<bool, Failure> {
        let resting = self.must_rest(now);
        let sleep = if resting { REST } else { next - self.margin - now };
        if sleep <= Span::ZERO && now - self.looked < ORDERS {
            return Ok(false);
        }
        self.looked = now;
        // Only the client may end a rest.
        let wanted = if resting { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut fds = [PollFd::new(orders, PollFlags::POLLIN), PollFd::new(packets, wanted)];
        let fds = if resting { &mut fds[..1] } else { &mut fds[..] };
        let timeout = TimeSpec::from_duration(sleep.to_wait());
        match ppoll(fds, Some(timeout), None) {
            Ok(0) if !resting => self.learn(Monotonic::now() - now - sleep),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(Failure::new("wait for packets", error)),
        }
        let woke = Monotonic::now();
        self.budget.repay((woke - now).max(Span::ZERO));
        self.accounted = woke;
        Ok(fds[0].revents().is_some_and(|events| !events.is_empty()))
    }

    /// Adapt the margin to a sleep that ended `late` too late.
    fn learn(&mut self, late: Span) {
        let margin = (self.margin - self.margin / 16).max(late + late / 4);
        self.margin = margin.clamp(*MARGIN.start(), *MARGIN.end());
    }
}
