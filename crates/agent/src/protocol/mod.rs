//! The messages of the agent's protocol, each stated once (docs/protocol.md).
//!
//! - [`requests`]: all operations, each with its request, its answer, its events and its tables.
//! - [`programs`], [`measuring`], [`generating`], [`network`]: requests that every agent serves, each with its answer.
//! - [`asking`]: what a probe asks of a service; [`tapping`]: the request to stamp its packets on their way.
//! - [`hiccups`]: the request that finds out how quiet a machine is; [`cpus`]: the one that records what CPUs do.
//! - [`crossing`]: those that try whether frames get from one machine to another.
//! - [`observing`]: the request for the forwarding tables of nodes.
//! - [`starting`]: those about a node's files and long-lived programs.
//! - [`links`]: those to an agent that carries links, and the links of a plan; [`passages`]: how packets passed them.
//! - [`lab`]: the request to build a lab, and its plan; [`agent_network`]: a part of it; [`built`]: the answer.
//! - [`machine`]: those about a machine and its labs, and how a session with a machine begins.
//! - [`running`]: orders of the client and events of the agent while a request runs.
//! - [`schema`]: all of it as JSON Schema, from which the tables of docs/protocol.md and Python's types are made.

pub(crate) mod agent_network;
pub(crate) mod asking;
pub(crate) mod built;
pub(crate) mod cpus;
pub(crate) mod crossing;
pub(crate) mod generating;
pub(crate) mod hiccups;
pub(crate) mod lab;
pub(crate) mod links;
pub(crate) mod mac;
pub(crate) mod machine;
pub(crate) mod measuring;
pub(crate) mod network;
pub(crate) mod observing;
pub(crate) mod outward;
pub(crate) mod passages;
pub(crate) mod programs;
pub(crate) mod requests;
pub(crate) mod running;
pub(crate) mod schema;
pub(crate) mod starting;
pub(crate) mod tapping;

/// The names of nodes, links, kinds and clocks: each is safe as part of a file's name.
const WORD: &str = "^[A-Za-z0-9][A-Za-z0-9_.:@+-]{0,99}$";
