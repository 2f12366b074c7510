//! The control of a host's links.
//!
//! - [`supervisor_client`]: passes a session's request on to the supervisor.
//! - [`supervisor`]: answers for the engine, an [`engine_process`] with an [`engine_task`], and sets the
//!   [`ports`] down when it has ended.
//! - [`own_engine`]: the process of delaylab's own engine: the loop, and beside it the [`control_thread`].
//! - [`server`]: serves each [`request`] and runs the [`timeline`], for either kind of engine.
//! - [`check`](mod@check): the check of a plan's links.
//! - [`messages`]: what these processes tell each other.

pub mod check;
mod control_thread;
mod engine_process;
pub mod engine_task;
pub mod messages;
mod own_engine;
pub mod port_drops;
pub mod ports;
mod request;
pub mod server;
pub mod supervisor;
pub mod supervisor_client;
pub mod timeline;
