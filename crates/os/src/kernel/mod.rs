//! The kernel itself: its modules, its parameters, its power.

pub mod modules;
pub mod power;
pub mod sysctl;
