// Old names: until the agent is moved.
#![allow(missing_docs)]

pub use crate::files::{folder, mount, poll, terminal as tty};
pub use crate::interface::{offloads as ethtool, packet_steering as steering, tap};
pub use crate::kernel::sysctl;
pub use crate::process::{credential_channel as report, open_files, title};
pub use crate::ring::{blocks as ring_blocks, frames as ring_frames, shares as ring_shares};
pub use crate::socket::{control_message as control, frame_batch, peer};
pub use crate::tcx::{drop as tcx_drop, loss as tcx_loss, sender as tcx_sender, tap as tcx_tap};
pub use crate::time::{stamp_ids, stamps as stamp};

pub mod announced {
    pub use crate::netlink::change_monitor::ChangeMonitor as Announced;
}
pub mod boot {
    pub use crate::files::folder_watch::wait_in;
    pub use crate::files::terminal::make_raw;
    pub use crate::kernel::modules::load_module;
    pub use crate::kernel::power::power_off;
}
pub mod clock {
    pub use crate::time::clock::*;
    #[cfg(target_arch = "x86_64")]
    pub use crate::time::tsc::counter_khz;
}
pub mod filter {
    pub use crate::socket::classic_filter::Program;
    pub use crate::socket::probe_match::{Match, Transport};
}
pub mod links {
    pub use crate::interface::state::{has_carrier, set_up};
    pub use crate::netlink::link_wait::wait;
}
pub mod memory {
    pub use crate::process::memory::{prefetch, trim};
}
pub mod namespace {
    pub use crate::interface::index::{highest_index, interface_index};
    pub use crate::process::namespace::*;
}
pub mod pipe {
    pub use crate::files::descriptor::{read_some, set_nonblocking, write_some};
    pub use crate::files::descriptor_passing::{
        Received, inherited, receive_descriptor, send_descriptor,
    };
    pub use crate::files::pipe::{pair, stream};
    pub use crate::files::stdio::detach_stdio;
}
pub mod query {
    pub use crate::netlink::interface::{alias, has_queue, master};
    pub use crate::netlink::routing::interface_to;
}
pub mod queues {
    pub use crate::netlink::qdiscs::{QdiscCounters as Queue, has_ingress_filter, read};
}
pub mod sched {
    pub use crate::process::memory::Locked;
    pub use crate::process::scheduling::*;
}
pub mod signals {
    pub use crate::process::end_signals::{EndSignals, unblock_all};
}
pub mod socket_batch {
    pub use crate::socket::receive_batch::{Message, ReceiveBatch};
    pub use crate::socket::send_batch::SendBatch;
}
