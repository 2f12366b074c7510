//! The time of a request's schedule: it reads as the time since the Unix epoch, and setting the clock does not
//! change it.
//!
//! It is `CLOCK_MONOTONIC` plus the offset of `CLOCK_REALTIME` at the request's start. The two clocks tick alike
//! (clock_gettime(2)): their offset changes only when somebody sets the clock, or after a suspend.

use delaylab_os::clock::{self, Realtime};
use std::sync::atomic::{AtomicI64, Ordering};

/// The offset at the start of the request. A process serves one request at a time.
static AHEAD_NS: AtomicI64 = AtomicI64::new(0);

/// The changes of the offset that are not looked into: two reads of the clock lie this far apart if the thread loses
/// its CPU between them, and no step of interest is smaller. In ns.
const UNSEEN_NS: i64 = 50_000;

/// Begin a request: from now on its time is as far from the epoch as the clock is.
pub(crate) fn start() {
    AHEAD_NS.store(clock::epoch_ahead().ns, Ordering::Relaxed);
}

/// Return the time in ns since the Unix epoch, as if nobody had set the clock since the request's start.
#[must_use]
pub(crate) fn now_ns() -> i64 {
    clock::monotonic_ns() + AHEAD_NS.load(Ordering::Relaxed)
}

/// A change of the clock while a request ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// The steady time at which it was seen.
    at_ns: i64,
    /// The sum of all steps up to this one.
    total_ns: i64,
}

/// The changes of the clock while a request ran.
#[derive(Debug, Default)]
pub(crate) struct ClockSteps(Vec<Step>);

impl ClockSteps {
    /// Look whether the clock was set; `now_ns` is the steady time, just read.
    pub(crate) fn look(&mut self, now_ns: i64) {
        let apart_ns = clock::realtime_ns() - now_ns - self.total_ns();
        if apart_ns.abs() > UNSEEN_NS {
            let ahead = clock::epoch_ahead();
            self.note(now_ns, ahead.ns - AHEAD_NS.load(Ordering::Relaxed), ahead.within_ns);
        }
    }

    /// Record that the clock is `total_ns` ahead of the steady time, known within so much.
    fn note(&mut self, at_ns: i64, total_ns: i64, within_ns: i64) {
        if (total_ns - self.total_ns()).abs() > UNSEEN_NS.max(within_ns) {
            self.0.push(Step { at_ns, total_ns });
        }
    }

    fn total_ns(&self) -> i64 {
        self.0.last().map_or(0, |step| step.total_ns)
    }

    /// Return how far the clock was ahead of the steady time at a steady time, in ns.
    #[must_use]
    pub(crate) fn ahead_at(&self, steady_ns: i64) -> i64 {
        let before = self.0.iter().rev().find(|step| step.at_ns <= steady_ns);
        before.map_or(0, |step| step.total_ns)
    }

    /// Return the time of the clock at a steady time.
    #[must_use]
    pub(crate) fn clock_at(&self, steady_ns: i64) -> Realtime {
        Realtime::from_ns(steady_ns + self.ahead_at(steady_ns))
    }

    /// Return true if the clock was set between two steady times.
    #[must_use]
    pub(crate) fn any_between(&self, from_ns: i64, to_ns: i64) -> bool {
        self.0.iter().any(|step| from_ns < step.at_ns && step.at_ns <= to_ns)
    }

    /// Describe the steps; `None` if there were none.
    #[must_use]
    pub(crate) fn describe(&self) -> Option<String> {
        let by_s = self.total_ns() as f64 / 1e9;
        match self.0.len() {
            0 => None,
            1 => Some(format!("the sender's clock was set by {by_s:+.3} s while it sent")),
            n => Some(format!("the sender's clock was set {n} times, by {by_s:+.3} s in all")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    #[test]
    fn each_time_has_the_clock_of_its_moment() {
        let mut steps = ClockSteps::default();
        steps.note(10 * SECOND_NS, -30 * SECOND_NS, 100);
        steps.note(20 * SECOND_NS, -25 * SECOND_NS, 100);
        let shown: Vec<i64> =
            [9, 10, 19, 20, 21].map(|s| steps.clock_at(s * SECOND_NS).ns()).into();
        assert_eq!(shown, [9, -20, -11, -5, -4].map(|s| s * SECOND_NS));
        assert!(steps.any_between(9 * SECOND_NS, 10 * SECOND_NS));
        assert!(!steps.any_between(10 * SECOND_NS, 19 * SECOND_NS));
        let text = "the sender's clock was set 2 times, by -25.000 s in all";
        assert_eq!(steps.describe().unwrap(), text);
    }

    #[test]
    fn a_thread_that_was_held_up_between_two_reads_has_seen_no_step() {
        let mut steps = ClockSteps::default();
        steps.note(SECOND_NS, 80_000, 90_000);
        steps.note(SECOND_NS, UNSEEN_NS, 10);
        assert_eq!(steps.describe(), None);
        start();
        steps.look(now_ns() - SECOND_NS);
        assert_eq!(steps.describe(), None, "a stale reading is looked into");
        assert_eq!(steps.clock_at(7).ns(), 7);
    }

    #[test]
    fn the_steady_time_starts_at_the_clock_s() {
        start();
        let (before, steady, after) = (clock::realtime_ns(), now_ns(), clock::realtime_ns());
        assert!(before - 10_000 <= steady && steady <= after + 10_000);
    }
}
