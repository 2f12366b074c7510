//! A receive ring of blocks (`TPACKET_V3`): the cheapest way to capture many packets that nobody waits for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use super::{Captured, Mapped, open_sentinel, time};
use crate::socket::filter::Program;
use crate::socket::option::pending_error;

/// The size of a block in bytes, and the number of blocks.
const BLOCK: usize = 256 << 10;
const BLOCKS: usize = 64;
/// The time after which the kernel hands over a block that is not full.
pub const RETIRE: Duration = Duration::from_millis(10);

/// A ring of 64 blocks of 256 KiB, for some 70 000 packets of 128 bytes.
#[derive(Debug)]
pub struct BlockRing {
    mapped: Mapped,
    /// A socket that is in error once the interface has gone away; `None` for a ring of all interfaces.
    sentinel: Option<OwnedFd>,
    next: usize,
    /// The numbers of packets since the ring was opened: put into it by the kernel, taken out of it, and
    /// dropped because it was full.
    put: u64,
    taken: u64,
    dropped: u32,
}

impl BlockRing {
    /// Start to capture the packets on an interface that pass the filter, in both directions. Fails with
    /// `EPERM` without `CAP_NET_RAW`.
    ///
    /// The kernel hands a packet to the sockets of all interfaces before those of one, to the newest first. Packets
    /// without a receive stamp, as TCP's from a namespace beside this one are, get a stamp when a socket takes them. So
    /// this ring is a socket of all interfaces, too: behind that of a link's engine, the time in which the kernel wakes
    /// the engine would be in its stamps.
    pub fn open(interface: u32, filter: Program) -> io::Result<Self> {
        let sentinel = open_sentinel(interface)?;
        Ok(Self { sentinel: Some(sentinel), ..Self::open_everywhere(&filter.at(interface))? })
    }

    /// Start to capture the packets on all interfaces that pass the filter, as [`BlockRing::open`] does.
    pub fn open_everywhere(filter: &Program) -> io::Result<Self> {
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: 2048,
            tp_frame_nr: (BLOCK * BLOCKS / 2048) as u32,
            tp_retire_blk_tov: RETIRE.as_millis() as u32,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        // Index 0 stands for all interfaces (packet(7)).
        let mapped = Mapped::open(0, filter, version, &request, BLOCK * BLOCKS, true)?;
        Ok(Self { mapped, sentinel: None, next: 0, put: 0, taken: 0, dropped: 0 })
    }

    /// Return the socket, which is readable when a block is ready.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.mapped.fd()
    }

    /// Return a socket that is in error when the interface has gone away; `None` for a ring of all interfaces.
    #[must_use]
    pub fn sentinel(&self) -> Option<BorrowedFd<'_>> {
        self.sentinel.as_ref().map(OwnedFd::as_fd)
    }

    /// Let no more packets in. Those already in the ring come out when the kernel hands over their block,
    /// which [`BlockRing::is_empty`] tells.
    pub fn close_gate(&self) -> io::Result<()> {
        Program::nothing().attach(self.fd())
    }

    /// Pass every packet of the ready blocks to `take` and return the number of packets. Fails with
    /// `ENETDOWN` if the interface has gone away.
    pub fn drain(&mut self, mut take: impl FnMut(Captured<'_>)) -> io::Result<usize> {
        pending_error(self.sentinel().unwrap_or(self.fd()))?;
        let mut packets = 0;
        while self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0 {
            packets += self.read_block(&mut take);
            fence(Ordering::Release);
            self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % BLOCKS;
        }
        self.taken += packets as u64;
        Ok(packets)
    }

    /// Return true if all packets that the kernel has put into the ring were taken out.
    pub fn is_empty(&mut self) -> io::Result<bool> {
        self.count()?;
        Ok(self.taken >= self.put)
    }

    /// Return how many packets are missing: those that found the ring full, and those still in it.
    pub fn missing(&mut self) -> io::Result<u32> {
        self.count()?;
        let left = u32::try_from(self.put.saturating_sub(self.taken)).unwrap_or(u32::MAX);
        Ok(self.dropped.saturating_add(left))
    }

    fn count(&mut self) -> io::Result<()> {
        let counted = self.mapped.counted()?;
        self.put += u64::from(counted.put);
        self.dropped = self.dropped.saturating_add(counted.dropped);
        Ok(())
    }

    /// Return the current block's status, by which the kernel and this process pass it to each other.
    fn status(&self) -> &AtomicU32 {
        let header = self.header();
        // SAFETY: the field lies in the ring, is aligned, and is only accessed as an atomic.
        unsafe { AtomicU32::from_ptr(&raw mut (*header).hdr.bh1.block_status) }
    }

    fn header(&self) -> *mut libc::tpacket_block_desc {
        self.mapped.at(self.next * BLOCK, BLOCK).cast()
    }

    fn read_block(&self, take: &mut impl FnMut(Captured<'_>)) -> usize {
        // SAFETY: the block is this process's until its status is given back; the kernel
        // filled in the header.
        let header = unsafe { (*self.header()).hdr.bh1 };
        let mut offset = header.offset_to_first_pkt as usize;
        for _ in 0..header.num_pkts {
            let at = self.mapped.at(self.next * BLOCK + offset, size_of::<libc::tpacket3_hdr>());
            // SAFETY: a packet's header lies at every offset that the kernel chained, aligned
            // to 16 bytes; the length of the ring was just checked.
            let packet = unsafe { &*at.cast::<libc::tpacket3_hdr>() };
            take(self.packet(packet, self.next * BLOCK + offset));
            offset += packet.tp_next_offset as usize;
        }
        header.num_pkts as usize
    }

    fn packet(&self, header: &libc::tpacket3_hdr, offset: usize) -> Captured<'_> {
        let length = header.tp_snaplen as usize;
        let data = self.mapped.at(offset + usize::from(header.tp_mac), length);
        // SAFETY: the data lies in a block that is this process's until `drain` gives it back,
        // after the borrow of `self` that the result carries.
        let data = unsafe { std::slice::from_raw_parts(data, length) };
        let (outgoing, interface) = self.mapped.address(offset, size_of::<libc::tpacket3_hdr>());
        let time = time(header.tp_sec, header.tp_nsec);
        Captured { data, original: header.tp_len, time, outgoing, interface }
    }
}
