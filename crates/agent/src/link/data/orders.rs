//! Orders to the forwarding loop, and its answers. Each order takes the loop microseconds.

use delaylab_link::Conditions;

use super::counts::Snapshot;
use super::pool::Fullness;
use crate::timing::pace::Watched;

/// An order to the loop.
pub enum Order {
    /// Change the conditions of a direction.
    Change { direction: usize, conditions: Box<Conditions> },
    /// Read the counters of one direction, and reset them with `reset`.
    Read { direction: usize, reset: bool },
    /// Read the counters of all directions together.
    ReadWhole { reset: bool },
}

/// An answer; answers come in the order of the orders.
pub enum Answer {
    Direction(Box<Snapshot>),
    Whole(Whole, Fullness, Watched),
}

/// The counters of all directions together.
#[derive(Clone, Copy, Default)]
pub struct Whole {
    /// The number of pauses, in which the loop did not run while something was due.
    pub pauses: u64,
    pub longest_pause_ns: i64,
    /// Frames that found the ring full.
    pub dropped_ring: u64,
    /// Frames of an interface that is no port.
    pub unknown_port: u64,
}
