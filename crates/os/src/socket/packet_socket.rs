//! Packet sockets, which send and receive whole frames (packet(7)).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Open a packet socket, non-blocking and close-on-exec, that receives nothing until it is bound to a
/// protocol. Fails with `EPERM` without `CAP_NET_RAW`.
pub fn packet_socket() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(AddressFamily::Packet, SockType::Raw, flags, None)?)
}

/// Bind a packet socket to an interface by its index (0: all) and to an EtherType; with 0 it can only send.
/// Fails with `ENODEV` if there is no such interface.
pub fn bind(fd: BorrowedFd<'_>, interface: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeros is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is `length` bytes long and outlives the call.
    let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
