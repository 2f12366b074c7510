//! Linux interfaces: sockets, stamps, rings, namespaces, processes, netlink. With `crates/replay` the only crate with `unsafe`.
//!
//! The folders are listed in groups. A module uses only its own folder and those of the groups above it.
#![allow(unsafe_code)]

mod bpf;
pub mod clock;
pub mod files;
pub mod kernel;
#[cfg(target_arch = "x86_64")]
pub mod tsc;

pub mod process;
pub mod socket;

pub mod interface;
pub mod netlink;
pub mod stamps;

pub mod ring;

pub mod clsact;
pub mod cpus;
pub mod drops;
pub mod retransmissions;
pub mod service_tap;
pub mod tcx;
