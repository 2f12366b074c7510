//! `delaylab-agent fabric`: builds a lab and keeps it (docs/architecture.md, "Who is who").
//!
//! - [`keeper`]: outside the lab; locks its run directory, starts pid 1, cleans up after it.
//! - [`init`]: pid 1 of the lab; starts the builder of the network and the agents, reaps.
//! - [`roster`]: how the builder learns of agents as they start.
//! - [`member`]: an agent of the lab; holds a network namespace and serves a socket.
//! - [`monitor`]: an agent whose node is a container or a virtual machine.
//! - [`carrier`]: an agent that carries links with conditions.
//! - [`domains`]: Xen's, which the kernel does not end with the lab's processes.
//! - [`network`]: the plan's operations as netlink requests, one batch per namespace.

mod carrier;
mod cgroups;
mod console;
mod domains;
mod groups;
mod init;
mod keeper;
mod local;
mod member;
mod message;
mod monitor;
mod network;
mod plan;
mod qmp;
mod report;
mod roster;
mod rundir;
mod setup;
mod sweep;

pub use keeper::keep;
pub use setup::serve as setup;
pub use sweep::sweep;
