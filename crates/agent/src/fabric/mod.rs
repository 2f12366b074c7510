//! `delaylab-agent fabric`: build a lab and keep it (docs/architecture.md, "Who is who").
//!
//! - [`keeper`]: runs outside of the lab; locks its run directory, starts PID 1, cleans up after it.
//! - [`init`]: PID 1 of the lab; starts the builder of the network and the agents, reaps.
//! - [`report`]: what starting agents report, to the builder and to the keeper.
//! - [`agent`]: an agent of the lab; holds a network namespace and serves a socket, or carries links with conditions.
//!   [`member`] is its configuration.
//! - [`real_interface`]: the node that an interface of this machine is.
//! - [`nat`]: a node's way outside.
//! - [`guest`]: an agent whose node is a container or a virtual machine.
//! - [`domains`]: Xen domains, which the kernel does not end with the lab's processes.
//! - [`running`]: the labs that are up on this machine, for clients on others.
//! - [`network`]: the plan's operations as netlink requests, one batch per namespace.
//! - [`outward`]: the interfaces that links to other machines leave by.
//! - [`cgroups`]: control groups of agents.

mod agent;
mod cgroups;
mod domains;
mod guest;
mod indices;
mod init;
mod keeper;
mod local;
mod member;
mod message;
mod names;
mod nat;
mod network;
mod outward;
mod own_folders;
mod plan;
mod real_interface;
mod report;
mod rundir;
mod running;
mod setup;
mod sweep;

pub(crate) use cgroups::{SHARED, counting_hierarchies, limiting_hierarchies};
pub(crate) use keeper::keep;
pub(crate) use running::{
    connect, end as end_lab, files as lab_files, list as labs, run_directory, sweep_all,
};
pub(crate) use setup::serve as setup;
pub(crate) use sweep::print as sweep;
