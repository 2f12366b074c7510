//! File descriptors and what they refer to: directories, pipes, terminals, mounts.

pub mod descriptor;
pub mod descriptor_passing;
pub mod folder;
pub mod folder_watch;
pub mod mount;
pub mod pipe;
pub mod poll;
pub mod ready_set;
pub mod removal;
pub mod stdio;
pub mod terminal;
