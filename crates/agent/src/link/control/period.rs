//! The period over which a link engine counts frames.

use delaylab_os::time::clock::{Monotonic, Realtime};

/// The least difference between two clocks' lengths of a period from which on the clock was set: 1 ms.
const SET_NS: i64 = 1_000_000;

/// The start of counting, by the clock and by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Period {
    since: Realtime,
    began: Monotonic,
}

impl Period {
    /// Begin to count now.
    pub fn begin() -> Self {
        Self { since: Realtime::now(), began: Monotonic::now() }
    }

    /// Return the start and the end of the period up to now, in ns since the Unix epoch, and begin the next one if
    /// `reset`. The period is as long as it was, also if somebody has set the clock meanwhile.
    pub fn until_now(&mut self, reset: bool) -> (i64, i64) {
        let now = Self::begin();
        let since = self.since_by(now);
        if reset {
            *self = now;
        }
        (since.ns(), now.since.ns())
    }

    /// Return the start of the period by the clock as it is now.
    fn since_by(self, now: Self) -> Realtime {
        let by_monotonic = now.since + -(now.began - self.began);
        let set = (by_monotonic - self.since).abs() > SET_NS;
        if set { by_monotonic } else { self.since }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_follows_the_last_one_and_keeps_its_length_when_the_clock_is_set() {
        let at = |since_ns: i64, began_ns: i64| Period {
            since: Realtime::from_ns(since_ns),
            began: Monotonic::from_ns(began_ns),
        };
        let began = at(1_000, 50);
        let later = |by_ns: i64| at(1_000 + by_ns, 50 + 5_000_000);
        let since = began.since_by(later(5_000_300));
        assert_eq!(since.ns(), 1_000, "two reads are a little apart");
        let set = later(5_000_000 - 30_000_000_000);
        assert_eq!(set.since - began.since_by(set), 5_000_000);
    }
}
