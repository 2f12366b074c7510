//! Linux: sockets, stamps, rings. The only crate with `unsafe`, each block with its reason.
#![allow(unsafe_code)]

pub mod clock;
pub mod filter;
pub mod ring;
pub mod ring_blocks;
pub mod ring_frames;
pub mod sched;
pub mod socket;
mod socket_address;
pub mod socket_batch;
pub mod stamp;
pub mod stamp_ids;
