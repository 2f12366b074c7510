//! Attaching a compiled BPF program to a socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use aya::Ebpf;
use aya::programs::SocketFilter;

use super::option::set_option;
use crate::bpf::load_error::refused;

/// Load a program of an object, and attach it to a socket for as long as that is open.
///
/// # Panics
/// Panics if the object has no such program.
pub(crate) fn attach(socket: BorrowedFd<'_>, object: &mut Ebpf, name: &str) -> io::Result<()> {
    let program = object.program_mut(name).expect("the object has this program");
    let program: &mut SocketFilter = program.try_into().map_err(refused)?;
    program.load().map_err(refused)?;
    let program = program.fd().map_err(refused)?.as_fd().as_raw_fd();
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &program)
}
