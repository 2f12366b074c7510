//! Sessions: streams of the framed protocol (docs/protocol.md), each served by a process of its own.
//!
//! - [`stream`]: one session, its requests, replies, and orders in between.
//! - [`listen`]: clients on a socket, and the processes that serve their sessions.
//! - [`line`]: a stream that never blocks; [`mux`]: many sessions over one; [`escape`]: the bytes that a
//!   console drops.

pub(crate) mod escape;
pub(crate) mod line;
pub(crate) mod listen;
pub(crate) mod mux;
mod stream;

pub(crate) use stream::{Serve, Session, stdio};
