//! The conditions of a link applied to its frames: a frame, a time and a seeded random stream go in,
//! deliveries and drops come out. No I/O and no clock. A [`Pipe`] is one direction of a link.
//!
//! `docs/links.md` defines each condition.

mod check;
mod conditions;
mod configured;
pub mod limits;
mod pipe;
mod queue;
mod random_draws;
mod server;
mod steps;

pub use conditions::{
    Conditions, Discipline, Distribution, Jitter, LinkState, Loss, Queue, QueuePlace, Rate,
    Reorder, Trace,
};
pub use configured::{Configured, Settings};
pub use limits::{Bound, FASTEST_BPS, bounds};
pub use pipe::{Delivery, Pipe, Reason, Sink};
pub use queue::Limit;
pub use random_draws::jitter_quantile;
