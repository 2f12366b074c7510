//! The links of a host whose conditions this agent implements (docs/protocol.md, "Links").
//!
//! - [`plan`]: the links as the plan describes them.
//! - [`control`]: requests about links and their answers: the supervisor, the engine's process, the thread
//!   that serves requests in it.
//! - [`data`]: the path of frames through delaylab's own engine.
//! - [`kernel`]: the kernel's bridges and qdiscs instead.
//!
//! `crate::timing::pace` decides when the forwarding loop sleeps and when it spins.

mod control;
mod data;
pub mod kernel;
mod plan;

pub use control::ask::serve;
pub use control::check::check;
pub use control::supervisor::Supervisor;
pub use control::work::Work;
pub use data::gates::Agents;
pub use plan::{Carrier, Links};
