//! Linux: namespaces, processes, netlink; the only crate of the workspace with `unsafe`.
#![allow(unsafe_code)]

pub mod ethtool;
pub mod mount;
pub mod namespace;
pub mod netlink;
pub mod pipe;
pub mod poll;
pub mod process;
pub mod report;
pub mod signals;
pub mod title;
pub mod tty;
