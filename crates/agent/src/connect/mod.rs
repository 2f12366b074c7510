//! Subcommands that connect their standard input and output, or a stream of theirs, to something else.
//!
//! - [`call`]: a command run by another agent, the way into a machine in a machine.
//! - [`join`]: a session with another agent.
//! - [`relay`]: a hypervisor's console.

pub(crate) mod call;
pub(crate) mod join;
pub(crate) mod relay;
