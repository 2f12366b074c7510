//! The delays that a CPU inflicts on a thread that only reads the clock. Whatever has to be done on time on
//! this CPU is late by as much, too.

use crate::protocol::links::CpuNoiseSummary;
use crate::timing::lateness::Lateness;

/// The longest time between two reads of the clock that does not count as held up; two reads take far less.
const HELD_UP_NS: i64 = 3_000;

/// The time that a thread has waited awake, and the part of it for which it was held up.
#[derive(Clone, Default)]
pub(super) struct CpuNoise {
    since_ns: Option<i64>,
    watched_ns: i64,
    held_up: Lateness,
}

impl CpuNoise {
    /// Start to watch: from now on the thread only reads the clock.
    pub(super) fn watch_from(&mut self, now_ns: i64) {
        self.since_ns = Some(now_ns);
    }

    /// Stop watching: the thread has read the clock again.
    pub(super) fn watch_until(&mut self, now_ns: i64) {
        let Some(since_ns) = self.since_ns.take() else { return };
        let passed_ns = now_ns - since_ns;
        self.watched_ns += passed_ns;
        if passed_ns > HELD_UP_NS {
            self.held_up.record(passed_ns);
        }
    }

    pub(super) fn read(&self) -> CpuNoiseSummary {
        let Self { watched_ns, ref held_up, .. } = *self;
        // A moment x before the end of an unseen interval is seen x late.
        let p99_ns = held_up.exceeded_in_all_by(watched_ns / 100);
        CpuNoiseSummary { watched_ns, held_up_ns: held_up.sum(), p99_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(gaps: &[i64]) -> CpuNoiseSummary {
        let mut cpu_noise = CpuNoise::default();
        let mut now_ns = 0;
        for gap_ns in gaps {
            cpu_noise.watch_from(now_ns);
            now_ns += gap_ns;
            cpu_noise.watch_until(now_ns);
        }
        cpu_noise.read()
    }

    #[test]
    fn one_in_100_moments_is_late_by_what_the_thread_was_held_up() {
        // A moment within the 40 µs is up to 40 µs late. One in 100 of all moments lies in the first 10 µs of
        // them.
        let found = watched(&[[100; 9_600].as_slice(), &[40_000]].concat());
        assert_eq!((found.watched_ns, found.held_up_ns), (1_000_000, 40_000));
        assert!((found.p99_ns - 30_000).abs() < 1_500, "{found:?}");
        let found = watched(&[[100; 9_920].as_slice(), &[8_000]].concat());
        assert_eq!((found.held_up_ns, found.p99_ns), (8_000, 0));
    }

    #[test]
    fn what_was_done_otherwise_is_not_watched() {
        let mut cpu_noise = CpuNoise::default();
        cpu_noise.watch_until(50_000);
        cpu_noise.watch_from(50_000);
        cpu_noise.watch_until(50_100);
        cpu_noise.watch_until(90_000);
        assert_eq!(cpu_noise.read(), CpuNoiseSummary { watched_ns: 100, held_up_ns: 0, p99_ns: 0 });
    }
}
