//! The links of a host whose conditions this agent implements (docs/protocol.md, "Links").
//!
//! - [`supervisor`]: answers sessions; starts the engine, a [`child`], and sets the ports down when the
//!   engine has ended.
//! - [`engine`]: the engine's process; serves requests beside the loop.
//! - [`serve`](mod@serve): serves requests and runs the timeline, for either kind of engine.
//! - [`forward`]: the loop; [`intake`], [`direction`], [`wire`], [`pool`], [`due`] and [`outbox`] are its
//!   parts.
//! - [`kernel`]: uses the kernel's bridges and qdiscs instead.
//! - [`gates`]: limits senders at their own interfaces, each by a [`gate`].
//! - `crate::pace`: decides when the loop sleeps and when it spins.

mod ask;
mod asked;
mod cable;
mod check;
mod checksum;
mod child;
mod counts;
mod direction;
mod due;
mod engine;
mod epoch;
mod forward;
mod front;
mod gate;
mod gates;
mod intake;
pub mod kernel;
mod laid;
mod messages;
mod orders;
mod outbox;
mod plan;
mod pool;
mod port_drops;
mod ports;
mod request;
mod serve;
mod supervisor;
mod timeline;
mod wire;
mod work;

pub use ask::serve;
pub use check::check;
pub use gates::Agents;
pub use plan::{Carrier, Links};
pub use supervisor::Supervisor;
pub use work::Work;
