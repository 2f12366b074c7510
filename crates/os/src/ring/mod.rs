//! Receive rings of packet sockets (packet(7), Documentation/networking/packet_mmap.rst of the kernel):
//! memory that the kernel writes packets to and this process reads them from, without a system call per
//! packet.

pub mod blocks;
pub mod frames;
mod mapped;
pub mod shares;

pub use mapped::Captured;
// Old names: until the agent is moved.
#[doc(hidden)]
pub use crate::socket::packet_socket::{bind, packet_socket};
