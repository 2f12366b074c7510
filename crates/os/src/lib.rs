//! Linux interfaces: sockets, stamps, rings, namespaces, processes, netlink. The only crate with `unsafe`.
#![allow(unsafe_code)]

pub mod boot;
pub mod clock;
pub mod control;
pub mod ethtool;
pub mod filter;
pub mod folder;
pub mod frame_batch;
pub mod links;
pub mod memory;
pub mod mount;
pub mod namespace;
pub mod netlink;
pub mod open_files;
mod option;
pub mod peer;
pub mod pipe;
pub mod poll;
pub mod process;
pub mod report;
pub mod ring;
pub mod ring_blocks;
pub mod ring_frames;
pub mod ring_shares;
pub mod sched;
pub mod signals;
pub mod socket;
mod socket_address;
pub mod socket_batch;
pub mod stamp;
pub mod stamp_ids;
pub mod steering;
pub mod sysctl;
pub mod tap;
pub mod tcx;
pub mod tcx_drop;
pub mod tcx_loss;
pub mod tcx_sender;
mod tcx_shared;
pub mod tcx_tap;
pub mod title;
pub mod tty;

// Old names: until the agent is moved.
#[doc(hidden)]
pub mod announced {
    pub use crate::netlink::change_monitor::ChangeMonitor as Announced;
}
#[doc(hidden)]
pub mod query {
    pub use crate::netlink::interface::{alias, has_queue, master};
    pub use crate::netlink::routing::interface_to;
}
#[doc(hidden)]
pub mod queues {
    pub use crate::netlink::qdiscs::{QdiscCounters as Queue, has_ingress_filter, read};
}
