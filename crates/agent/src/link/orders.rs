//! What the forwarding loop is told, and what it answers. Each order takes it microseconds.

use delaylab_link::Conditions;

use super::counts::Snapshot;
use super::pool::Fullness;
use crate::pace::Watched;

/// An order to the loop.
pub enum Order {
    /// Other conditions from now on.
    Change { direction: usize, conditions: Box<Conditions> },
    /// The counts of one direction, which begin anew with `reset`.
    Read { direction: usize, reset: bool },
    /// The counts of all directions together.
    ReadWhole { reset: bool },
}

/// An answer, in the order of the questions.
pub enum Answer {
    Direction(Box<Snapshot>),
    Whole(Whole, Fullness, Watched),
}

/// What is counted of all directions together.
#[derive(Clone, Copy, Default)]
pub struct Whole {
    /// Times when the loop did not run while something was due.
    pub pauses: u64,
    pub longest_pause_ns: i64,
    /// Frames that found the ring full.
    pub dropped_ring: u64,
    /// Frames of an interface that is no port.
    pub unknown_port: u64,
}
