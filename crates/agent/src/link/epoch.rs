//! Between the clock that stamps are of, which may be set, and the one that runs on.

use delaylab_os::clock;

/// How long a reading holds. Each takes two looks at a clock, and a frame needs it twice; if the clock is
/// set, what comes within this time is taken for earlier or later by as much.
const HOLDS_NS: i64 = 100_000;

/// How far the clock of the epoch is ahead, as read last.
#[derive(Default)]
pub struct Epoch {
    ahead_ns: i64,
    until_ns: i64,
}

impl Epoch {
    /// In ns, as of no more than 0.1 ms before `now_ns` of the clock that runs on.
    pub fn ahead_ns(&mut self, now_ns: i64) -> i64 {
        if now_ns >= self.until_ns {
            *self = Self { ahead_ns: clock::epoch_ahead_ns(), until_ns: now_ns + HOLDS_NS };
        }
        self.ahead_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_kept_for_its_time_and_then_made_again() {
        let mut epoch = Epoch::default();
        let now_ns = clock::monotonic_ns();
        let read_ns = epoch.ahead_ns(now_ns);
        // Two looks at two clocks: within a second even if this thread loses its CPU between them.
        assert!((read_ns - clock::epoch_ahead_ns()).abs() < 1_000_000_000);
        epoch.ahead_ns = 7;
        assert_eq!(epoch.ahead_ns(now_ns + HOLDS_NS - 1), 7);
        assert_ne!(epoch.ahead_ns(now_ns + HOLDS_NS), 7);
    }
}
