//! Conversion between the clock of stamps, which may be set, and the monotonic clock.

use delaylab_os::clock::{EpochOffset, Monotonic, Realtime, Span};

/// The lifetime of a reading. Each reading takes two clock reads, and a frame needs the offset twice.
const HOLDS: Span = Span::from_ns(100_000);
/// The time from a frame's arrival to its reading from which on a reading may be of before the clock was set.
const DOUBTFUL: Span = Span::from_ns(20_000_000);

/// The last reading of the offset between the two clocks.
pub(super) struct ClockOffset {
    offset: EpochOffset,
    until: Monotonic,
}

impl Default for ClockOffset {
    fn default() -> Self {
        Self { offset: EpochOffset::default(), until: Monotonic::from_ns(0) }
    }
}

impl ClockOffset {
    /// Return the offset, read at most 0.1 ms before `now`.
    pub(super) fn read(&mut self, now: Monotonic) -> EpochOffset {
        if now >= self.until {
            *self = Self { offset: EpochOffset::read(), until: now + HOLDS };
        }
        self.offset
    }

    /// Return the monotonic time of a frame's stamp. If the clock was set since the last reading, the frame would
    /// seem to have come long ago, or to be still to come: then read the offset again.
    pub(super) fn stamped(&mut self, stamp: Realtime, now: Monotonic) -> Monotonic {
        let ago = now - self.read(now).monotonic(stamp);
        if ago.abs() > DOUBTFUL {
            self.until = now;
        }
        self.read(now).monotonic(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_kept_for_its_time_and_then_made_again() {
        let mut clock_offset = ClockOffset::default();
        let now = Monotonic::now();
        let read = clock_offset.read(now);
        // Two reads of two clocks: within a second of each other even if this thread loses its CPU between
        // them.
        assert!((read - EpochOffset::read()).abs() < Span::from_ns(1_000_000_000));
        clock_offset.offset = EpochOffset::from_ns(7);
        assert_eq!(clock_offset.read(now + (HOLDS + Span::from_ns(-1))).ns(), 7);
        assert_ne!(clock_offset.read(now + HOLDS).ns(), 7);
    }

    #[test]
    fn a_frame_after_the_clock_was_set_has_come_just_now() {
        for set_by_ns in [-30_000_000_000, 30_000_000_000] {
            let (now, stamp) = (Monotonic::now(), Realtime::now());
            // The reading is of before the clock was set.
            let offset = EpochOffset::from_ns(EpochOffset::read().ns() - set_by_ns);
            let mut clock_offset = ClockOffset { offset, until: now + HOLDS };
            let ago = now - clock_offset.stamped(stamp, now);
            assert!(ago.abs() < Span::from_ns(1_000_000_000), "{ago:?} ago");
        }
    }
}
