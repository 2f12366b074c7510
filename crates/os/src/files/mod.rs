//! File descriptors and what they refer to: directories, pipes, terminals, mounts.

pub mod beneath;
pub mod descriptor;
pub mod folder;
pub mod mount;
pub mod pieces;
pub mod poll;
pub mod removal;
pub mod terminal;
