//! A socket that watches an interface for its programs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::socket::packet_socket;
use crate::time::stamps;

/// An EtherType for local experiments (IEEE 802), which no packet of interest has.
const NOBODY: u16 = 0x88b5;

/// Open a packet socket bound to an EtherType that nobody sends. It is in error once the interface has gone
/// away, and makes the kernel stamp received packets.
pub(super) fn open(interface: u32) -> io::Result<OwnedFd> {
    let socket = packet_socket::packet_socket()?;
    stamps::keep_receive_stamps_on(socket.as_fd())?;
    packet_socket::bind(socket.as_fd(), interface, NOBODY)?;
    Ok(socket)
}
