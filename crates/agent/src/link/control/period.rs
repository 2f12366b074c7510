//! The period over which a link engine counts frames.

use delaylab_os::time::clock;

/// The least difference between two clocks' lengths of a period from which on the clock was set: 1 ms.
const SET_NS: i64 = 1_000_000;

/// The start of counting, by the clock and by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Period {
    since_ns: i64,
    since_monotonic_ns: i64,
}

impl Period {
    /// Begin to count now.
    pub fn begin() -> Self {
        Self { since_ns: clock::realtime_ns(), since_monotonic_ns: clock::monotonic_ns() }
    }

    /// Return the start and the end of the period up to now, in ns since the Unix epoch, and begin the next one if
    /// `reset`. The period is as long as it was, also if somebody has set the clock meanwhile.
    pub fn until_now(&mut self, reset: bool) -> (i64, i64) {
        let now = Self::begin();
        let since_ns = self.since_by(now);
        if reset {
            *self = now;
        }
        (since_ns, now.since_ns)
    }

    /// Return the start of the period by the clock as it is now.
    fn since_by(self, now: Self) -> i64 {
        let by_monotonic = now.since_ns - (now.since_monotonic_ns - self.since_monotonic_ns);
        let set = (by_monotonic - self.since_ns).abs() > SET_NS;
        if set { by_monotonic } else { self.since_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_follows_the_last_one_and_keeps_its_length_when_the_clock_is_set() {
        let began = Period { since_ns: 1_000, since_monotonic_ns: 50 };
        let later =
            |by_ns: i64| Period { since_ns: 1_000 + by_ns, since_monotonic_ns: 50 + 5_000_000 };
        assert_eq!(began.since_by(later(5_000_300)), 1_000, "two reads are a little apart");
        let set = later(5_000_000 - 30_000_000_000);
        assert_eq!(set.since_ns - began.since_by(set), 5_000_000);
    }
}
