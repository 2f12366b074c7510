//! `delaylab-agent fabric`: build a lab and keep it (docs/architecture.md, "Who is who").
//!
//! - [`keeper`]: runs outside of the lab; locks its run directory, starts PID 1, cleans up after it.
//! - [`init`]: PID 1 of the lab; starts the builder of the network and the agents, reaps.
//! - [`roster`]: reports starting agents to the builder.
//! - [`agent`]: an agent of the lab; holds a network namespace and serves a socket. [`member`] is its
//!   configuration.
//! - [`monitor`]: an agent whose node is a container or a virtual machine.
//! - [`link_agent`]: an agent that carries links with conditions.
//! - [`domains`]: Xen domains, which the kernel does not end with the lab's processes.
//! - [`network`]: the plan's operations as netlink requests, one batch per namespace.

mod agent;
mod cgroup_removal;
mod cgroups;
mod console;
mod domains;
mod groups;
mod init;
mod keeper;
mod leash;
mod link_agent;
mod local;
mod member;
mod message;
mod monitor;
mod names;
mod network;
mod plan;
mod qmp;
mod report;
mod roster;
mod rundir;
mod setup;
mod sweep;

pub(crate) use keeper::keep;
pub(crate) use setup::serve as setup;
pub(crate) use sweep::sweep;
