//! The hiccups of one spinning thread, by the times that it read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use delaylab_os::clock::Monotonic;

/// The shortest hiccup of each size class, in ns: three a decade. The kernel's ordinary timer interrupt takes less
/// than the first.
pub(super) const SIZES_NS: [u64; 16] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];

/// Hiccup: the time between two readings of the clock. Longer ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hiccup {
    pub took_ns: u64,
    pub began: Monotonic,
}

/// The hiccups of one thread so far, in bounded memory.
#[derive(Debug)]
pub(super) struct Meter {
    last: Monotonic,
    /// The count of readings from just before the clock was last read.
    readings: u64,
    most: usize,
    pub watched_ns: u64,
    pub lost_ns: u64,
    pub counts: [u64; SIZES_NS.len()],
    longest: BinaryHeap<Reverse<Hiccup>>,
}

impl Meter {
    /// Begin at a time; keep so many of the longest hiccups.
    pub(super) fn new(now: Monotonic, readings: u64, most: usize) -> Self {
        let (watched_ns, lost_ns, counts) = (0, 0, [0; SIZES_NS.len()]);
        Self { last: now, readings, most, watched_ns, lost_ns, counts, longest: BinaryHeap::new() }
    }

    /// Add a reading of the clock; return the length of the hiccup that it ends, or 0.
    ///
    /// The count of `readings` is odd while the agent reads what the machine does; it is given as it was just before
    /// the clock was read, and just after. The agent's own work must not count as the machine's, so the time
    /// between two readings of the clock counts only if the number was even and the same from before the first to
    /// after the second.
    pub(super) fn add(&mut self, now: Monotonic, readings: (u64, u64)) -> u64 {
        let began = std::mem::replace(&mut self.last, now);
        let before = std::mem::replace(&mut self.readings, readings.0);
        if before != readings.1 || before % 2 == 1 {
            return 0;
        }
        let took_ns = u64::try_from((now - began).ns()).unwrap_or(0);
        self.watched_ns += took_ns;
        let Some(size) = SIZES_NS.iter().rposition(|least| took_ns >= *least) else { return 0 };
        self.lost_ns += took_ns;
        self.counts[size] += 1;
        self.longest.push(Reverse(Hiccup { took_ns, began }));
        if self.longest.len() > self.most {
            self.longest.pop();
        }
        took_ns
    }

    /// Return the longest hiccups, the longest first.
    pub(super) fn into_longest(self) -> Vec<Hiccup> {
        self.longest.into_sorted_vec().into_iter().map(|Reverse(hiccup)| hiccup).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: i64) -> Monotonic {
        Monotonic::from_ns(us * 1000)
    }

    #[test]
    fn gaps_are_counted_by_size_and_the_longest_are_kept() {
        let mut meter = Meter::new(at(0), 0, 2);
        let found: Vec<u64> =
            [9, 19, 1019, 1020, 1050].map(|us| meter.add(at(us), (0, 0))).into_iter().collect();
        assert_eq!(found, [0, 10_000, 1_000_000, 0, 30_000]);
        assert_eq!((meter.watched_ns, meter.lost_ns), (1_050_000, 1_040_000));
        assert_eq!(meter.counts[..7], [1, 1, 0, 0, 0, 0, 1]);
        let longest: Vec<u64> = meter.into_longest().iter().map(|one| one.took_ns).collect();
        assert_eq!(longest, [1_000_000, 30_000]);
    }

    #[test]
    fn the_agents_own_work_does_not_count() {
        let mut meter = Meter::new(at(0), 0, 9);
        // The machine was read just after the clock, then just before it, and then for some time.
        let given = [(1, (0, 2)), (1000, (2, 2)), (1001, (2, 2)), (2000, (2, 3)), (3000, (3, 3))];
        for (us, readings) in [given.as_slice(), &[(4000, (3, 4)), (5000, (4, 4))]].concat() {
            assert_eq!(meter.add(at(us), readings), 0, "{us}");
        }
        assert_eq!((meter.watched_ns, meter.lost_ns), (1000, 0));
        assert_eq!(meter.add(at(5020), (4, 4)), 20_000);
    }
}
