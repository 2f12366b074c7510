//! Commands to the forwarding loop, and its answers. Each command takes the loop microseconds.

use delaylab_link::Conditions;

use super::counts::Snapshot;
use super::pool::Fullness;
use crate::timing::pace::CpuNoiseSummary;

/// A command to the loop.
pub enum LoopCommand {
    /// Change the conditions of a direction.
    Change { direction: usize, conditions: Box<Conditions> },
    /// Read the counters of one direction, and reset them with `reset`.
    Read { direction: usize, reset: bool },
    /// Read the counters of all directions together.
    ReadTotals { reset: bool },
}

/// An answer; answers come in the order of the commands.
pub enum LoopAnswer {
    Direction(Box<Snapshot>),
    Totals(Totals, Fullness, CpuNoiseSummary),
}

/// The counters of all directions together.
#[derive(Clone, Copy, Default)]
pub struct Totals {
    /// The number of pauses, in which the loop did not run while something was due.
    pub pauses: u64,
    pub longest_pause_ns: i64,
    /// Frames that found the ring full.
    pub dropped_ring: u64,
    /// Frames of an interface that is no port.
    pub unknown_port: u64,
}
