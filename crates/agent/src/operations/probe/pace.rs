//! Waiting: the sender sleeps while there is time, and spins when a packet is due or a reply is near.
//!
//! It keeps the budget of real time (`timing::pace::budget`) by short rests that only the client interrupts.
//! Unlike the thread that forwards, it never rests as an ordinary thread: it stays in real time from the
//! first packet to the last, so that all of its stamps are taken alike.

use crate::timing::pace::{REST_NS, RealTimeBudget};
use crate::timing::steady;
use delaylab_proto::Failure;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The time before a due packet at which the sender wakes up and then spins: the recent wake-up latency and a
/// quarter, within these limits. An idle machine wakes some 40 to 200 µs late.
const MARGIN_NS: std::ops::RangeInclusive<i64> = 30_000..=500_000;
/// The time after a packet for which the sender spins for its reply. The stamp of a spinning reader is some
/// 10 µs more accurate than that of a sleeping one, but a far reply is not worth a core.
const REPLY_SPIN_NS: i64 = 200_000;
/// The longest time between two checks for the client's orders: 50 ms.
const ORDERS_NS: i64 = 50_000_000;
/// The time that the thread may run ahead of its rests.
const DEBT_NS: i64 = 5_000_000;

/// The state of waiting.
#[derive(Debug)]
pub(super) struct Pace {
    budget: RealTimeBudget,
    reply_until: i64,
    looked: i64,
    margin: i64,
    /// The time up to which the budget is settled.
    accounted: i64,
}

impl Pace {
    pub(super) fn new(realtime: bool, now: i64) -> Self {
        Self {
            budget: RealTimeBudget::new(realtime),
            reply_until: 0,
            looked: now,
            margin: 100_000,
            accounted: now,
        }
    }

    /// Expect the reply to a packet just sent at any moment.
    pub(super) fn expect_reply(&mut self, now: i64) {
        self.reply_until = now + REPLY_SPIN_NS;
    }

    /// Return true if the caller should poll again at once instead of doing anything else.
    pub(super) fn spins(&mut self, now: i64, due: Option<i64>, outstanding: bool) -> bool {
        let near = due.is_some_and(|due| due - now <= self.margin);
        let expecting = outstanding && now < self.reply_until;
        (near || expecting) && now - self.looked < ORDERS_NS && !self.must_rest(now)
    }

    fn must_rest(&mut self, now: i64) -> bool {
        self.budget.spend((now - self.accounted).max(0));
        self.accounted = now;
        self.budget.is_limited() && self.budget.debt_ns() > DEBT_NS
    }

    /// Wait for a packet or an order, but not beyond the margin before `next`. Return true if the client has
    /// sent something.
    pub(super) fn wait(
        &mut self,
        packets: BorrowedFd<'_>,
        orders: BorrowedFd<'_>,
        now: i64,
        next: i64,
    ) -> Result<bool, Failure> {
        let resting = self.must_rest(now);
        let sleep = if resting { REST_NS } else { next - self.margin - now };
        if sleep <= 0 && now - self.looked < ORDERS_NS {
            return Ok(false);
        }
        self.looked = now;
        // Only the client may end a rest.
        let wanted = if resting { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut fds = [PollFd::new(orders, PollFlags::POLLIN), PollFd::new(packets, wanted)];
        let fds = if resting { &mut fds[..1] } else { &mut fds[..] };
        let timeout = TimeSpec::from_duration(Duration::from_nanos(sleep.max(0) as u64));
        match ppoll(fds, Some(timeout), None) {
            Ok(0) if !resting => self.learn(steady::now_ns() - now - sleep),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(Failure::new("wait for packets", error)),
        }
        let woke = steady::now_ns();
        self.budget.repay((woke - now).max(0));
        self.accounted = woke;
        Ok(fds[0].revents().is_some_and(|events| !events.is_empty()))
    }

    /// Adapt the margin to a sleep that ended `late` ns too late.
    fn learn(&mut self, late: i64) {
        let margin = (self.margin - self.margin / 16).max(late + late / 4);
        self.margin = margin.clamp(*MARGIN_NS.start(), *MARGIN_NS.end());
    }
}
