//! The changes of the clock during a request, whose own times are `CLOCK_MONOTONIC`, which nobody sets.
//!
//! The two clocks tick alike (clock_gettime(2)): the offset of `CLOCK_REALTIME` changes only when somebody sets the
//! clock, or after a suspend.

use delaylab_os::clock::{EpochOffset, Monotonic, Realtime, Span};

/// The changes of the offset that are not looked into: two reads of the clock lie this far apart if the thread loses
/// its CPU between them, and no step of interest is smaller.
const UNSEEN: Span = Span::from_ns(50_000);

/// A change of the clock while a request ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// The time at which it was seen.
    at: Monotonic,
    /// The offset from then on.
    offset: EpochOffset,
}

/// The offset of the clock at the start of a request, and its changes while the request runs.
#[derive(Debug, Default)]
pub(crate) struct ClockSteps {
    start: EpochOffset,
    steps: Vec<Step>,
}

impl ClockSteps {
    /// Begin a request.
    pub(crate) fn start() -> Self {
        Self { start: EpochOffset::read_exactly().0, steps: Vec::new() }
    }

    /// Look whether the clock was set; `now` is the time, just read.
    pub(crate) fn look(&mut self, now: Monotonic) {
        if (Realtime::now() - self.offset().realtime(now)).abs() > UNSEEN {
            let (offset, within) = EpochOffset::read_exactly();
            self.note(now, offset, within);
        }
    }

    /// Record the offset, known within so much.
    fn note(&mut self, at: Monotonic, offset: EpochOffset, within: Span) {
        if (offset - self.offset()).abs() > UNSEEN.max(within) {
            self.steps.push(Step { at, offset });
        }
    }

    /// Return the last offset.
    fn offset(&self) -> EpochOffset {
        self.steps.last().map_or(self.start, |step| step.offset)
    }

    /// Return the time of the clock at a time.
    #[must_use]
    pub(crate) fn clock_at(&self, time: Monotonic) -> Realtime {
        self.clock_with(time, time)
    }

    /// Return the time of the clock at a time, if it were set as it is at another time.
    #[must_use]
    pub(crate) fn clock_with(&self, time: Monotonic, set_at: Monotonic) -> Realtime {
        let before = self.steps.iter().rev().find(|step| step.at <= set_at);
        before.map_or(self.start, |step| step.offset).realtime(time)
    }

    /// Return true if the clock was set between two times.
    #[must_use]
    pub(crate) fn any_between(&self, from: Monotonic, to: Monotonic) -> bool {
        self.steps.iter().any(|step| from < step.at && step.at <= to)
    }

    /// Describe the steps; `None` if there were none.
    #[must_use]
    pub(crate) fn describe(&self) -> Option<String> {
        let by_s = (self.offset() - self.start).ns() as f64 / 1e9;
        match self.steps.len() {
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

    fn at(seconds: i64) -> Monotonic {
        Monotonic::from_ns(seconds * SECOND_NS)
    }

    #[test]
    fn each_time_has_the_clock_of_its_moment() {
        let mut steps = ClockSteps::default();
        let within = Span::from_ns(100);
        steps.note(at(10), EpochOffset::from_ns(-30 * SECOND_NS), within);
        steps.note(at(20), EpochOffset::from_ns(-25 * SECOND_NS), within);
        let shown: Vec<i64> = [9, 10, 19, 20, 21].map(|s| steps.clock_at(at(s)).ns()).into();
        assert_eq!(shown, [9, -20, -11, -5, -4].map(|s| s * SECOND_NS));
        assert_eq!(steps.clock_with(at(9), at(10)).ns(), -21 * SECOND_NS);
        assert!(steps.any_between(at(9), at(10)));
        assert!(!steps.any_between(at(10), at(19)));
        let text = "the sender's clock was set 2 times, by -25.000 s in all";
        assert_eq!(steps.describe().unwrap(), text);
    }

    #[test]
    fn a_thread_that_was_held_up_between_two_reads_has_seen_no_step() {
        let mut steps = ClockSteps::default();
        steps.note(at(1), EpochOffset::from_ns(80_000), Span::from_ns(90_000));
        steps.note(at(1), EpochOffset::from_ns(UNSEEN.ns()), Span::from_ns(10));
        assert_eq!(steps.describe(), None);
        let mut steps = ClockSteps::start();
        steps.look(Monotonic::from_ns(Monotonic::now().ns() - SECOND_NS));
        assert_eq!(steps.describe(), None, "a stale reading is looked into");
        assert_eq!(ClockSteps::default().clock_at(Monotonic::from_ns(7)).ns(), 7);
    }

    #[test]
    fn the_time_of_a_request_starts_at_the_clock_s() {
        let steps = ClockSteps::start();
        let (before, now, after) = (Realtime::now(), Monotonic::now(), Realtime::now());
        let bound = Span::from_ns(10_000);
        assert!(before <= steps.clock_at(now) + bound && steps.clock_at(now) <= after + bound);
    }
}
