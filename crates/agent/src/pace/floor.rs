//! What a CPU does to a thread that only looks at the clock: whatever has to be done at its time on this
//! CPU is late by that much, too.

use serde::Serialize;

use crate::lateness::Lateness;

/// A thread that has not seen the clock for longer was held up: a look, and the next, take far less.
const HELD_UP_NS: i64 = 3_000;

/// Time that a thread spent awaiting something awake, and what of it passed without it.
#[derive(Clone, Default)]
pub struct Floor {
    since_ns: Option<i64>,
    watched_ns: i64,
    held_up: Lateness,
}

/// The floor as it is reported, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Watched {
    /// For how long the thread looked at nothing but the clock.
    pub watched_ns: i64,
    /// Of these, when something else had the CPU: an interrupt, another thread, or, unseen, whatever is
    /// under a virtual machine.
    pub held_up_ns: i64,
    /// How late at least one in 100 moments of that time was seen.
    pub p99_ns: i64,
}

impl Floor {
    /// From now on the thread looks at nothing but the clock.
    pub fn watch_from(&mut self, now_ns: i64) {
        self.since_ns = Some(now_ns);
    }

    /// It has looked again.
    pub fn watch_until(&mut self, now_ns: i64) {
        let Some(since_ns) = self.since_ns.take() else { return };
        let passed_ns = now_ns - since_ns;
        self.watched_ns += passed_ns;
        if passed_ns > HELD_UP_NS {
            self.held_up.record(passed_ns);
        }
    }

    pub fn read(&self) -> Watched {
        let Self { watched_ns, ref held_up, .. } = *self;
        // A moment x before the end of a time that passed unseen is seen x late.
        let p99_ns = held_up.exceeded_in_all_by(watched_ns / 100);
        Watched { watched_ns, held_up_ns: held_up.sum(), p99_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(gaps: &[i64]) -> Watched {
        let mut floor = Floor::default();
        let mut now_ns = 0;
        for gap_ns in gaps {
            floor.watch_from(now_ns);
            now_ns += gap_ns;
            floor.watch_until(now_ns);
        }
        floor.read()
    }

    #[test]
    fn one_in_100_moments_is_late_by_what_the_thread_was_held_up() {
        // A moment in the 40 µs is up to 40 µs late; one in 100 of all is among the 10 that began first.
        let found = watched(&[[100; 9_600].as_slice(), &[40_000]].concat());
        assert_eq!((found.watched_ns, found.held_up_ns), (1_000_000, 40_000));
        assert!((found.p99_ns - 30_000).abs() < 1_500, "{found:?}");
        let found = watched(&[[100; 9_920].as_slice(), &[8_000]].concat());
        assert_eq!((found.held_up_ns, found.p99_ns), (8_000, 0));
    }

    #[test]
    fn what_was_done_otherwise_is_not_watched() {
        let mut floor = Floor::default();
        floor.watch_until(50_000);
        floor.watch_from(50_000);
        floor.watch_until(50_100);
        floor.watch_until(90_000);
        assert_eq!(floor.read(), Watched { watched_ns: 100, held_up_ns: 0, p99_ns: 0 });
    }
}
