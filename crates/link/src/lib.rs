//! The conditions of a link applied to its frames: a frame, a time and a seeded random stream go in,
//! deliveries and drops come out. No I/O and no clock. A [`Pipe`] is one direction of a link.
//!
//! `docs/links.md` defines each condition.

mod chance;
mod check;
mod codel;
mod conditions;
mod configured;
mod jitter;
mod loss;
mod opportunities;
mod pipe;
mod queue;
mod random_draws;
mod red;
mod server;
mod sink;
mod steps;

pub use check::FASTEST_BPS;
pub use conditions::{
    Conditions, Discipline, Distribution, Jitter, Loss, Queue, QueuePlace, Rate, Reorder, Trace,
};
pub use configured::{Configured, Settings};
pub use jitter::jitter_quantile;
pub use pipe::Pipe;
pub use queue::Limit;
pub use sink::{Delivery, Reason, Sink};
