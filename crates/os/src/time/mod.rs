//! Clocks, and the kernel's stamps of packets.

pub mod clock;
pub mod stamp_ids;
pub mod stamps;
#[cfg(target_arch = "x86_64")]
pub mod tsc;
