//! The control of a host's links.
//!
//! - [`supervisor`]: takes the requests of sessions and answers for the engine, an [`engine_process`] with an
//!   [`engine_task`]; sets the [`ports`] down when it has ended.
//! - [`own_engine`]: the process of delaylab's own engine: the loop, and beside it the [`control_thread`].
//! - [`kernel_engine`]: the process of links in the kernel.
//! - [`requests`]: the requests; serves them and makes the changes of the timeline, for either kind of engine.
//! - [`report`](mod@report): the report of an engine, and the period over which it counts.
//! - [`check`](mod@check): the check of a plan's links.
//! - [`messages`]: what these processes tell each other.

pub(super) mod check;
mod control_thread;
mod engine_process;
pub(super) mod engine_task;
mod kernel_engine;
mod messages;
mod own_engine;
mod ports;
mod report;
mod requests;
pub(super) mod supervisor;
