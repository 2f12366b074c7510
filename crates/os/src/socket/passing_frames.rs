//! A packet socket by which the frames of an interface are passed on to another one (packet(7)).
//!
//! Each frame comes with the kernel's `virtio_net_hdr` (`PACKET_VNET_HDR`), which says what its network card had put
//! together or left to do: another socket of this kind sends it with that header, and the kernel cuts it and fills
//! in its checksum where the other interface needs that. The interface itself stays as it is: that it receives
//! frames for any address lasts as long as the socket, whoever ends it.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::option::{pending_error, set_option};
use super::packet_socket;

/// The options of linux/if_packet.h that the crate `libc` lacks.
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_AUXDATA: libc::c_int = 8;
/// The status of a frame whose VLAN tag the card has taken out.
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
/// The length of `struct virtio_net_hdr`.
const HEADER: usize = 10;
/// The room for a frame: the longest that a card puts together, with its header.
pub const ROOM: usize = HEADER + (1 << 16) + 64;
/// The frames that may wait while nobody runs: 8 MiB.
const BUFFER: usize = 8 << 20;

/// The frames that arrive at an interface, and a way out by it.
#[derive(Debug)]
pub struct PassingFrames {
    socket: OwnedFd,
}

/// A frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// It is in the buffer, with its header: so many bytes.
    Whole(usize),
    /// It had a VLAN tag, which the card took out, or was longer than the buffer.
    Other,
}

impl PassingFrames {
    /// Open the frames of an interface of the calling thread's network namespace, for whatever address they are.
    /// Fails with `ENODEV` if there is no such interface, and with `EPERM` without `CAP_NET_RAW`.
    pub fn open(interface: u32) -> io::Result<Self> {
        let socket = packet_socket::open()?;
        let fd = socket.as_raw_fd();
        for option in [packet_socket::PACKET_IGNORE_OUTGOING, PACKET_VNET_HDR, PACKET_AUXDATA] {
            set_option(fd, libc::SOL_PACKET, option, &1i32)?;
        }
        // Refused beyond the system's limit without rights: then fewer frames may wait.
        let bytes = BUFFER as libc::c_int;
        let _ = set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes);
        packet_socket::widen(socket.as_fd(), BUFFER)?;
        // SAFETY: all zeros is a valid packet_mreq.
        let mut all: libc::packet_mreq = unsafe { zeroed() };
        all.mr_ifindex = interface.cast_signed();
        all.mr_type = libc::PACKET_MR_PROMISC as libc::c_ushort;
        set_option(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &all)?;
        packet_socket::bind(socket.as_fd(), interface, libc::ETH_P_ALL as u16)?;
        Ok(Self { socket })
    }

    /// Return a descriptor that becomes readable when a frame has arrived.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Receive a frame into a buffer of [`ROOM`] bytes. Fails with `EAGAIN` if none has arrived, and with `ENETDOWN`
    /// once after the interface has gone down.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Arrived> {
        let mut control = [0u64; 8];
        let mut vector =
            libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: all zeros is a valid msghdr.
        let mut header: libc::msghdr = unsafe { zeroed() };
        header.msg_iov = &raw mut vector;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the header points to a buffer and to room for control messages that live through the call.
        let length = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, 0) };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        let cut = header.msg_flags & libc::MSG_TRUNC != 0;
        if cut || has_tag(&header) { Ok(Arrived::Other) } else { Ok(Arrived::Whole(length)) }
    }

    /// Send a frame that another socket of this kind has received, with its header.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the buffer is borrowed until the call returns.
        let sent =
            unsafe { libc::send(self.socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Return true if the interface is still there; clear the error of its having gone down.
    pub fn is_there(&self) -> io::Result<bool> {
        // The error tells nothing that the next lines do not.
        let _ = pending_error(self.socket.as_fd());
        // SAFETY: all zeros is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address has room for `length` bytes and lives through the call.
        let result = unsafe {
            libc::getsockname(self.socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length)
        };
        if result == 0 { Ok(address.sll_ifindex > 0) } else { Err(io::Error::last_os_error()) }
    }
}

/// Return true if the card has taken a VLAN tag out of the frame that came with these control messages.
fn has_tag(header: &libc::msghdr) -> bool {
    // SAFETY: the kernel filled in the header's control buffer and its length.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !next.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return null or a whole header in the buffer.
        let (level, kind) = unsafe { ((*next).cmsg_level, (*next).cmsg_type) };
        if (level, kind) == (libc::SOL_PACKET, PACKET_AUXDATA) {
            // SAFETY: the kernel puts a whole tpacket_auxdata into this message, whose first field is the status.
            let status: u32 = unsafe { libc::CMSG_DATA(next).cast::<u32>().read_unaligned() };
            return status & TP_STATUS_VLAN_VALID != 0;
        }
        // SAFETY: as above.
        next = unsafe { libc::CMSG_NXTHDR(header, next) };
    }
    false
}
