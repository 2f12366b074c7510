//! What both receive rings of packet sockets have in common (packet(7),
//! Documentation/networking/packet_mmap.rst).

use crate::filter::Program;
use crate::socket::set_option;
use crate::stamp;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// A packet in a ring.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The frame from its Ethernet header on, cut to the filter's snap.
    pub data: &'a [u8],
    /// The frame's length on the wire, in bytes.
    pub original: u32,
    /// When the kernel saw the frame, in ns since the Unix epoch.
    pub time_ns: i64,
    /// Whether the frame was leaving by the interface.
    pub outgoing: bool,
}

/// A packet socket with a ring that is mapped into this process.
#[derive(Debug)]
pub(crate) struct Mapped {
    socket: OwnedFd,
    memory: NonNull<u8>,
    length: usize,
}

impl Mapped {
    /// Opens the socket, attaches the filter before any packet can come, maps the ring, then
    /// binds it to the interface. `request` is the kernel's `tpacket_req` or `tpacket_req3`.
    pub(crate) fn open<Request>(
        interface: u32,
        filter: &Program,
        version: i32,
        request: &Request,
        length: usize,
        outgoing: bool,
    ) -> io::Result<Self> {
        let socket = packet_socket()?;
        let fd = socket.as_raw_fd();
        filter.attach(socket.as_fd())?;
        stamp::keep_receive_stamps_on(socket.as_fd())?;
        let option = |name, value: i32| set_option(fd, libc::SOL_PACKET, name, &value);
        option(libc::PACKET_VERSION, version)?;
        option(libc::PACKET_TIMESTAMP, libc::SOF_TIMESTAMPING_SOFTWARE as i32)?;
        if !outgoing {
            option(libc::PACKET_IGNORE_OUTGOING, 1)?;
        }
        set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let memory = map(&socket, length)?;
        let mapped = Self { socket, memory, length };
        bind(mapped.fd(), interface, libc::ETH_P_ALL as u16)?;
        Ok(mapped)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// A pointer into the ring.
    ///
    /// # Panics
    /// If `size` bytes at `offset` do not lie within the ring.
    pub(crate) fn at(&self, offset: usize, size: usize) -> *mut u8 {
        assert!(offset + size <= self.length, "the kernel's offset lies within the ring");
        // SAFETY: just checked.
        unsafe { self.memory.as_ptr().add(offset) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `open` with this length and is not used afterwards.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.length) };
    }
}

/// A packet socket that receives nothing until it is bound to a protocol.
pub fn packet_socket() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(AddressFamily::Packet, SockType::Raw, flags, None)?)
}

/// Binds a packet socket to an interface; protocol 0 lets it send only.
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

fn map(socket: &OwnedFd, length: usize) -> io::Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of the socket's ring at an address of the kernel's choice.
    let memory = unsafe {
        libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(memory.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
}

/// The socket's pending error, e.g. `ENETDOWN` when its interface went away.
pub(crate) fn pending_error(fd: BorrowedFd<'_>) -> io::Result<()> {
    let errno = nix::sys::socket::getsockopt(&fd, nix::sys::socket::sockopt::SocketError)?;
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}
