//! The control of a host's links.
//!
//! - [`ask`]: a session's request, passed on to the [`supervisor`], which answers for the engine, a
//!   [`child`], and sets the [`ports`] down when it has ended.
//! - [`engine`]: the process of delaylab's own engine: the loop, and beside it the thread [`front`].
//! - [`serve`](mod@serve): serves a [`request`] and runs the [`timeline`], for either kind of engine.
//! - [`asked`]: the configured conditions and changes to them; [`check`](mod@check): those of a plan.
//! - [`messages`]: what these processes tell each other.

pub mod ask;
pub mod asked;
pub mod check;
mod child;
mod engine;
mod front;
pub mod messages;
pub mod port_drops;
pub mod ports;
mod request;
pub mod serve;
pub mod supervisor;
pub mod timeline;
pub mod work;
