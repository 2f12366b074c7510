//! Subcommands that connect their standard input and output, or a stream of theirs, to something else.
//!
//! - [`call`]: a command run by another agent, the way into a machine in a machine.
//! - [`relay`]: a session with another agent, or a hypervisor's console.

pub(crate) mod call;
pub(crate) mod relay;
