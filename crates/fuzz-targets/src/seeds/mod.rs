//! Seeds of all shapes that the targets know. Most are good: their mutations get past the first check.

pub mod frame;
pub mod packet;
pub mod pcapng;
mod seed;
pub mod tcp;

pub use seed::{Field, Seed};
