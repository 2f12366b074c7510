//! Conversion between the clock of stamps, which may be set, and the monotonic clock.

use delaylab_os::time::clock;

/// The lifetime of a reading. Each reading takes two clock reads, and a frame needs the offset twice.
const HOLDS_NS: i64 = 100_000;
/// The time from a frame's arrival to its reading from which on a reading may be of before the clock was set.
const DOUBTFUL_NS: i64 = 20_000_000;

/// The last reading of the offset between the two clocks.
#[derive(Default)]
pub struct ClockOffset {
    ahead_ns: i64,
    until_ns: i64,
}

impl ClockOffset {
    /// Return the offset of the epoch's clock in ns, read at most 0.1 ms before `now_ns` on the monotonic
    /// clock.
    pub fn ahead_ns(&mut self, now_ns: i64) -> i64 {
        if now_ns >= self.until_ns {
            *self = Self { ahead_ns: clock::epoch_ahead_ns(), until_ns: now_ns + HOLDS_NS };
        }
        self.ahead_ns
    }

    /// Return the monotonic time of a frame's stamp. If the clock was set since the last reading, the frame would
    /// seem to have come long ago, or to be still to come: then read the offset again.
    pub fn stamped_ns(&mut self, stamp_ns: i64, now_ns: i64) -> i64 {
        let ago_ns = now_ns - (stamp_ns - self.ahead_ns(now_ns));
        if ago_ns.abs() > DOUBTFUL_NS {
            self.until_ns = now_ns;
        }
        stamp_ns - self.ahead_ns(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_kept_for_its_time_and_then_made_again() {
        let mut clock_offset = ClockOffset::default();
        let now_ns = clock::monotonic_ns();
        let read_ns = clock_offset.ahead_ns(now_ns);
        // Two reads of two clocks: within a second of each other even if this thread loses its CPU between
        // them.
        assert!((read_ns - clock::epoch_ahead_ns()).abs() < 1_000_000_000);
        clock_offset.ahead_ns = 7;
        assert_eq!(clock_offset.ahead_ns(now_ns + HOLDS_NS - 1), 7);
        assert_ne!(clock_offset.ahead_ns(now_ns + HOLDS_NS), 7);
    }

    #[test]
    fn a_frame_after_the_clock_was_set_has_come_just_now() {
        for set_by_ns in [-30_000_000_000, 30_000_000_000] {
            let mut clock_offset = ClockOffset::default();
            let now_ns = clock::monotonic_ns();
            let stamp_ns = clock::realtime_ns();
            // The reading is of before the clock was set.
            clock_offset.ahead_ns = clock::epoch_ahead_ns() - set_by_ns;
            clock_offset.until_ns = now_ns + HOLDS_NS;
            let ago_ns = now_ns - clock_offset.stamped_ns(stamp_ns, now_ns);
            assert!(ago_ns.abs() < 1_000_000_000, "{ago_ns} ns ago");
        }
    }
}
