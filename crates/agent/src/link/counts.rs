//! What happened to the frames of one direction.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::lateness::Lateness;

/// Frames and their bytes, from the Ethernet header on; and when they came or went, in ns since the epoch.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Tally {
    pub frames: u64,
    pub bytes: u64,
    #[serde(skip)]
    first_ns: Option<i64>,
    #[serde(skip)]
    last_ns: Option<i64>,
}

/// Frames that were not sent, by the reason.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Dropped {
    /// More came at once than the port's share of the ring: these have not entered.
    pub ring: u64,
    /// The loss that is asked.
    pub loss: u64,
    /// The queue was full.
    pub queue: u64,
    /// The queue's discipline took it.
    pub early: u64,
    /// The memory for frames under way was used up.
    pub memory: u64,
    /// Longer than the MTU allows, cut, or without its checksums: what no cable carries.
    pub oversize: u64,
    /// The interface did not take it.
    pub interface: u64,
    /// The interface was down.
    pub down: u64,
}

/// All that is counted of one direction.
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

/// The counts at one moment, and how many frames and bytes were under way.
#[derive(Clone, Default)]
pub struct Snapshot {
    pub counts: Counts,
    /// Waiting for the rate.
    pub waiting: (usize, u64),
    /// Waiting for the rate or under way.
    pub held: u32,
}

impl Tally {
    /// What somebody else has counted, who knows no times.
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

impl Snapshot {
    /// As `links` reports it.
    pub fn fields(&self) -> Map<String, Value> {
        let Counts { entered, left, dropped, duplicated, corrupted, reordered, late } =
            &self.counts;
        let (frames, bytes) = self.waiting;
        let fields = json!({
            "in": entered, "out": left, "dropped": dropped,
            "duplicated": duplicated, "corrupted": corrupted, "reordered": reordered,
            "waiting": {"frames": frames, "bytes": bytes}, "held": self.held,
            "late": late.summary(),
            "first_in_ns": entered.first_ns, "last_in_ns": entered.last_ns,
            "first_out_ns": left.first_ns, "last_out_ns": left.last_ns,
        });
        let Value::Object(fields) = fields else { unreachable!("it was written as an object") };
        fields
    }
}
