//! The links of a host whose conditions this agent implements (docs/protocol.md, "Links").
//!
//! - [`configured`]: the conditions of each direction, and changes to them.
//! - [`control`]: requests about links and their answers: the supervisor, the engine's process, the thread
//!   that serves requests in it.
//! - [`data`]: the path of frames through delaylab's own engine.
//! - [`kernel`]: the kernel's bridges and qdiscs instead.
//!
//! `crate::timing::pace` decides when the forwarding loop sleeps and when it spins.

mod configured;
mod control;
mod data;
pub(crate) mod kernel;

pub(crate) use control::check;
pub(crate) use control::supervisor::{Supervisor, ask_supervisor};
pub(crate) use control::task::EngineTask;
pub(crate) use data::sender_limits::Agents;
