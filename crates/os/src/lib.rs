//! Linux: sockets, stamps, rings, namespaces, processes, netlink; the only crate with `unsafe`.
#![allow(unsafe_code)]

pub mod boot;
pub mod clock;
pub mod control;
pub mod ethtool;
pub mod filter;
pub mod frame_batch;
pub mod links;
pub mod memory;
pub mod mount;
pub mod namespace;
pub mod netlink;
mod option;
pub mod pipe;
pub mod poll;
pub mod process;
pub mod query;
pub mod report;
pub mod ring;
pub mod ring_blocks;
pub mod ring_frames;
pub mod sched;
pub mod signals;
pub mod socket;
mod socket_address;
pub mod socket_batch;
pub mod stamp;
pub mod stamp_ids;
pub mod sysctl;
pub mod tap;
pub mod tcx;
pub mod tcx_drop;
pub mod tcx_sender;
mod tcx_shared;
pub mod tcx_tap;
pub mod title;
pub mod tty;
