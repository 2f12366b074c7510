//! Network interfaces of the current network namespace: their state and settings.

pub mod index;
pub mod offloads;
pub mod packet_steering;
mod request;
pub mod state;
pub mod tap;
