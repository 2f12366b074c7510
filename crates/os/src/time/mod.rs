//! The kernel's stamps of packets, and the CPU's time stamp counter.

pub mod stamp_ids;
pub mod stamps;
#[cfg(target_arch = "x86_64")]
pub mod tsc;
