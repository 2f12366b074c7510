//! What a link does to its frames: a frame, a time and a seeded random stream in, deliveries
//! and drops out. No I/O and no clock; a [`Pipe`] is one direction of a link.

mod check;
mod conditions;
mod merge;
mod pipe;
mod sink;

pub use conditions::{
    Conditions, Discipline, Distribution, Jitter, Loss, Queue, Rate, Reorder, Trace,
};
pub use merge::merge;
pub use pipe::Pipe;
pub use sink::{Delivery, Reason, Sink};
