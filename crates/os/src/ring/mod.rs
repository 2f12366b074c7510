//! Receive rings of packet sockets (packet(7), Documentation/networking/packet_mmap.rst of the kernel):
//! memory that the kernel writes packets to and this process reads them from, without a system call per
//! packet.

pub mod blocks;
pub mod frames;
pub mod shares;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use crate::clock::Realtime;
use crate::socket::filter::Program;
use crate::socket::option::set_option;
use crate::socket::packet_socket;
use crate::stamps;

/// A packet in a ring.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The frame from its Ethernet header on, cut to the filter's snap length.
    pub data: &'a [u8],
    /// The frame's length on the wire, in bytes.
    pub original: u32,
    /// The kernel's receive or transmit stamp, in ns since the Unix epoch.
    pub time: Realtime,
    /// True if the frame was leaving by the interface.
    pub outgoing: bool,
    /// The index of the interface.
    pub interface: u32,
}

/// The numbers of packets that passed the filter of a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// Those that the kernel put into the ring.
    pub put: u32,
    /// Those that found the ring full.
    pub dropped: u32,
}

/// An EtherType for local experiments (IEEE 802), which no packet of interest has.
const NOBODY: u16 = 0x88b5;

/// Open a packet socket bound to an EtherType that nobody sends. It is in error once the interface has gone
/// away, and makes the kernel stamp received packets.
pub(crate) fn open_sentinel(interface: u32) -> io::Result<OwnedFd> {
    let socket = packet_socket::open()?;
    stamps::keep_receive_stamps_on(socket.as_fd())?;
    packet_socket::bind(socket.as_fd(), interface, NOBODY)?;
    Ok(socket)
}

/// A packet socket with a ring that is mapped into this process's memory.
#[derive(Debug)]
pub(super) struct Mapped {
    socket: OwnedFd,
    memory: NonNull<u8>,
    length: usize,
}

impl Mapped {
    /// Open the socket, attach the filter before any packet can come, map the ring, and bind the socket to
    /// the interface (0: to all). `request` is the kernel's `tpacket_req` or `tpacket_req3`.
    pub(super) fn open<Request>(
        interface: u32,
        filter: &Program,
        version: i32,
        request: &Request,
        length: usize,
        outgoing: bool,
    ) -> io::Result<Self> {
        let socket = packet_socket::open()?;
        let fd = socket.as_raw_fd();
        filter.attach(socket.as_fd())?;
        stamps::keep_receive_stamps_on(socket.as_fd())?;
        let option = |name, value: i32| set_option(fd, libc::SOL_PACKET, name, &value);
        option(libc::PACKET_VERSION, version)?;
        option(libc::PACKET_TIMESTAMP, libc::SOF_TIMESTAMPING_SOFTWARE as i32)?;
        if !outgoing {
            option(libc::PACKET_IGNORE_OUTGOING, 1)?;
        }
        set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let memory = map(&socket, length)?;
        let mapped = Self { socket, memory, length };
        packet_socket::bind(mapped.fd(), interface, libc::ETH_P_ALL as u16)?;
        Ok(mapped)
    }

    /// Return the socket.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Return what the kernel has counted since the last call.
    pub(super) fn counted(&self) -> io::Result<Counted> {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: `statistics` is `length` writable bytes. TPACKET_V3 has one more field, which the kernel
        // leaves out for this length.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let libc::tpacket_stats { tp_packets, tp_drops } = statistics;
        // The kernel's number of packets includes those that it dropped.
        Ok(Counted { put: tp_packets.saturating_sub(tp_drops), dropped: tp_drops })
    }

    /// Return the direction and the interface of the packet whose ring header of `header` bytes lies at
    /// `offset`. The kernel puts a sockaddr_ll behind the aligned header.
    pub(super) fn address(&self, offset: usize, header: usize) -> (bool, u32) {
        let at = offset + header.next_multiple_of(16);
        let address = self.at(at, size_of::<libc::sockaddr_ll>()).cast::<libc::sockaddr_ll>();
        // SAFETY: `at` checked that it lies within the ring; the caller owns the packet.
        let address = unsafe { address.read_unaligned() };
        (address.sll_pkttype == libc::PACKET_OUTGOING, address.sll_ifindex as u32)
    }

    /// Return a pointer into the ring.
    ///
    /// # Panics
    /// Panics if `size` bytes at `offset` do not lie within the ring.
    pub(super) fn at(&self, offset: usize, size: usize) -> *mut u8 {
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

/// Convert the two time fields of a ring header to ns since the Unix epoch.
pub(super) fn time(seconds: u32, nanoseconds: u32) -> Realtime {
    Realtime::from_ns(i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds))
}
