//! The agent's part of recording and replaying programs; the library that is loaded into them is `crates/replay`.
//!
//! The agent alone uses this crate: its verbs `calls` and `apart`, and where it restarts the programs of a node.

pub mod apart;
pub mod calls;
pub mod files;
pub mod loading;
