//! Linux interfaces: sockets, stamps, rings, namespaces, processes, netlink. The only crate with `unsafe`.
//!
//! The folders are listed in groups. A module uses only its own folder and those of the groups above it.
#![allow(unsafe_code)]

mod bpf;
pub mod clock;
pub mod files;
pub mod kernel;

pub mod process;
pub mod socket;

pub mod interface;
pub mod netlink;
pub mod time;

pub mod ring;

pub mod clsact;
pub mod tcx;
