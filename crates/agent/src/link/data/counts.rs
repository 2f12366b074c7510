//! The counters of one direction.

use serde::Serialize;

use crate::timing::lateness::Lateness;

/// A count of frames and bytes, from the Ethernet header on, with the first and last time in ns since the
/// epoch.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Tally {
    pub frames: u64,
    pub bytes: u64,
    #[serde(skip)]
    pub first_ns: Option<i64>,
    #[serde(skip)]
    pub last_ns: Option<i64>,
}

/// Dropped frames by drop reason.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Dropped {
    /// Frames beyond the port's share of the ring; they never entered.
    pub ring: u64,
    /// The configured loss.
    pub loss: u64,
    /// A full queue.
    pub queue: u64,
    /// A drop by the queue's discipline.
    pub early: u64,
    /// No memory left for frames under way.
    pub memory: u64,
    /// Frames that no cable carries: longer than the MTU allows, cut, or without checksums.
    pub oversize: u64,
    /// Frames that the egress interface did not take.
    pub interface: u64,
    /// Frames for an interface that was down.
    pub down: u64,
}

/// All counters of one direction.
#[derive(Clone, Default)]
pub struct Counts {
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
pub struct Snapshot {
    pub counts: Counts,
    /// Frames and bytes that wait for the rate.
    pub waiting: (usize, u64),
    /// Frames that wait for the rate or are under way.
    pub held: u32,
}

impl Tally {
    /// Build a tally from counters that have no times.
    pub fn of(frames: u64, bytes: u64) -> Self {
        Self { frames, bytes, ..Self::default() }
    }

    pub fn add(&mut self, bytes: usize, time_ns: i64) {
        self.frames += 1;
        self.bytes += bytes as u64;
        self.first_ns.get_or_insert(time_ns);
        self.last_ns = Some(time_ns);
    }
}
