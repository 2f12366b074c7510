//! Catching up after late frames.

/// The catch-up rate, as a multiple of the configured rate. This keeps a stall from filling queues with one
/// burst.
const FASTER: u64 = 2;
/// The span of due frames that may be sent at once.
const AT_ONCE_NS: i64 = 50_000;

/// The earliest time at which the next frame may leave, however late it is.
pub(super) struct Spacing {
    least_ns: i64,
    free_ns: i64,
}

impl Spacing {
    /// Build the spacing for frames with this interval.
    pub(super) fn of(interval_ns: u64) -> Self {
        Self { least_ns: (interval_ns / FASTER).cast_signed(), free_ns: i64::MIN }
    }

    /// Return the time at which a frame that is due at `due_ns` may leave.
    pub(super) fn not_before(&self, due_ns: i64) -> i64 {
        self.free_ns.max(due_ns)
    }

    /// Record that a frame leaves.
    pub(super) fn sent(&mut self, now_ns: i64) {
        self.free_ns = self.free_ns.max(now_ns - AT_ONCE_NS) + self.least_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL_NS: i64 = 20_000;
    const STALL_NS: i64 = 10_000_000;

    /// Return the send time of each frame of a generator that checks every microsecond except for one stall.
    fn sent_ns(count: i64) -> Vec<i64> {
        let mut spacing = Spacing::of(INTERVAL_NS as u64);
        let mut sent = Vec::new();
        let mut now_ns = 0;
        while (sent.len() as i64) < count {
            let due_ns = sent.len() as i64 * INTERVAL_NS;
            if spacing.not_before(due_ns) <= now_ns {
                spacing.sent(now_ns);
                sent.push(now_ns);
            } else {
                now_ns += if now_ns == 1_000_000 { STALL_NS } else { 1000 };
            }
        }
        sent
    }

    #[test]
    fn a_stall_is_made_up_for_at_twice_the_rate() {
        let sent = sent_ns(2000);
        for window_ns in [100_000, 1_000_000, 5_000_000] {
            let most = FASTER as i64 * window_ns / INTERVAL_NS + 2 * AT_ONCE_NS / INTERVAL_NS + 1;
            let within = |&from: &i64| {
                sent.iter().filter(|&&at| (from..from + window_ns).contains(&at)).count()
            };
            let found = sent.iter().map(within).max().unwrap();
            assert!(found as i64 <= most, "{found} in {window_ns} ns, {most} at most");
        }
        // It has caught up after as much time again as the stall took.
        let late = |number: usize| sent[number] - number as i64 * INTERVAL_NS;
        let again = ((1_000_000 + 2 * STALL_NS) / INTERVAL_NS) as usize;
        assert!(
            late(again - 100) > 900_000 && late(again + 5) < 1000,
            "{} {}",
            late(again - 100),
            late(again + 5)
        );
    }

    #[test]
    fn as_fast_as_can_be_is_not_held_back() {
        let mut spacing = Spacing::of(0);
        for now_ns in [7, 7, 7, 8] {
            assert!(spacing.not_before(0) <= now_ns);
            spacing.sent(now_ns);
        }
    }
}
