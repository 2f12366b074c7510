//! The framed protocol between delaylab and its agents, over any byte stream: stdio, a Unix socket,
//! virtio-serial, a console.
//!
//! `docs/protocol.md` is the specification. This crate is one of its two implementations; the other is
//! `src/delaylab/agent/session.py`. Nothing here opens or owns a stream.

mod frame;
mod message;
mod table;
mod window;
pub use crate::message::Context;
pub use frame::{Frame, FrameError, Kind, MAX_PAYLOAD, read_frame, split_frame, write_frame};
pub use message::{Failure, FailureKind, Refusal, Reply};
pub use table::Table;
pub use window::{OUTPUT_WINDOW, STDIN_WINDOW, Window};
