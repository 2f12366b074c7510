//! The counters of one direction.

use delaylab_os::clock::Realtime;

use crate::protocol::links::{Dropped, Tally};
use crate::timing::lateness::Lateness;

/// All counters of one direction.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    pub entered: Tally,
    pub left: Tally,
    pub dropped: Dropped,
    pub duplicated: u64,
    pub corrupted: u64,
    pub reordered: u64,
    pub late: Lateness,
}

/// The counters at one moment, and the number of frames and bytes under way.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    pub counts: Counts,
    /// Frames and bytes that wait for the rate.
    pub waiting: (usize, u64),
    /// Frames that wait for the rate or are under way.
    pub held: u32,
}

impl Tally {
    /// Build a tally from counters that have no times.
    pub(crate) fn of(frames: u64, bytes: u64) -> Self {
        Self { frames, bytes, ..Self::default() }
    }

    pub(crate) fn add(&mut self, bytes: usize, at: Realtime) {
        self.frames += 1;
        self.bytes += bytes as u64;
        self.first_ns.get_or_insert(at.ns());
        self.last_ns = Some(at.ns());
    }
}
