//! A receive ring of frames (`TPACKET_V2`): every packet is visible at once, so a reader can wait for it.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Captured, Mapped, time};
use crate::process::memory::CACHE_LINE;
use crate::socket::filter::Program;
use crate::socket::option::pending_error;

/// The size in bytes of a block, the least that the kernel allocates at once.
const BLOCK: usize = 64 << 10;
/// The bytes that the kernel puts before a frame: its header, an address, and padding so that the Ethernet
/// header ends at a multiple of 16 bytes (net/packet/af_packet.c, `tpacket_rcv`).
const HEADROOM: usize = 80;

/// The EtherType of a tag (IEEE 802.1Q).
const VLAN: u16 = 0x8100;

/// A ring of frames of one size.
#[derive(Debug)]
pub struct FrameRing {
    mapped: Mapped,
    frames: usize,
    size: usize,
    block: usize,
    next: usize,
}

/// A frame to be forwarded.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// The frame and its arrival time.
    pub captured: Captured<'a>,
    /// The VLAN tag that the kernel removed from the frame, from its type on.
    pub vlan: Option<[u8; 4]>,
    /// True if the frame's checksums are complete, false if they are left to the egress interface.
    pub finished: bool,
}

impl FrameRing {
    /// Start to capture the packets that arrive at an interface (0: at all) and pass the filter; with
    /// `outgoing` also those that leave by it. The ring has room for at least `frames` packets, each cut to
    /// `bytes` from the Ethernet header on. Fails with `EPERM` without `CAP_NET_RAW`, and with `ENOMEM` if the
    /// kernel has no memory for the ring.
    pub fn open(
        interface: u32,
        filter: &Program,
        frames: usize,
        bytes: usize,
        outgoing: bool,
    ) -> io::Result<Self> {
        // No two frames share a cache line.
        let size = (HEADROOM + bytes).next_multiple_of(CACHE_LINE);
        let block = BLOCK.max(size.next_power_of_two());
        let blocks = frames.div_ceil(block / size);
        let frames = blocks * (block / size);
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: size as u32,
            tp_frame_nr: frames as u32,
        };
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        let mapped = Mapped::open(interface, filter, version, &request, blocks * block, outgoing)?;
        Ok(Self { mapped, frames, size, block, next: 0 })
    }

    /// Return the socket: readable when a packet has come, in error when the interface has gone away.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.mapped.fd()
    }

    /// Return the number of packets that the ring has room for.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Fail with `ENETDOWN` if the interface has gone away.
    pub fn check(&self) -> io::Result<()> {
        pending_error(self.fd())
    }

    /// Pass up to `limit` packets that have arrived to `take` and return the number of packets.
    pub fn drain(&mut self, limit: usize, mut take: impl FnMut(Captured<'_>)) -> usize {
        self.drain_whole(limit, |passing| take(passing.captured))
    }

    /// Pass packets as [`Self::drain`] does, with the data that forwarding them needs.
    pub fn drain_whole(&mut self, limit: usize, mut take: impl FnMut(Passing<'_>)) -> usize {
        for packets in 0..limit {
            let per_block = self.block / self.size;
            let offset = self.next / per_block * self.block + self.next % per_block * self.size;
            let header = self.mapped.at(offset, self.size).cast::<libc::tpacket2_hdr>();
            // SAFETY: the field lies in the ring, is aligned, and is only accessed as an atomic.
            let status = unsafe { AtomicU32::from_ptr(&raw mut (*header).tp_status) };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return packets;
            }
            // SAFETY: the frame is this process's until its status is given back below.
            take(self.packet(unsafe { &*header }, offset));
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.frames;
        }
        limit
    }

    fn packet(&self, header: &libc::tpacket2_hdr, offset: usize) -> Passing<'_> {
        let length = header.tp_snaplen as usize;
        let data = self.mapped.at(offset + usize::from(header.tp_mac), length);
        // SAFETY: the data lies in a frame that is this process's until `drain` gives it back,
        // after the borrow of `self` that the result carries.
        let data = unsafe { std::slice::from_raw_parts(data, length) };
        let (outgoing, interface) = self.mapped.address(offset, size_of::<libc::tpacket2_hdr>());
        let time = time(header.tp_sec, header.tp_nsec);
        let captured = Captured { data, original: header.tp_len, time, outgoing, interface };
        let finished = header.tp_status & libc::TP_STATUS_CSUMNOTREADY == 0;
        Passing { captured, vlan: vlan(header), finished }
    }

    /// Return how many packets the kernel has dropped since the last call because the ring was full.
    pub fn dropped(&self) -> io::Result<u32> {
        Ok(self.mapped.counted()?.dropped)
    }
}

/// Return the VLAN tag that the kernel keeps beside the frame, not in it.
fn vlan(header: &libc::tpacket2_hdr) -> Option<[u8; 4]> {
    if header.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let told = header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let kind = if told { header.tp_vlan_tpid } else { VLAN }.to_be_bytes();
    let tag = header.tp_vlan_tci.to_be_bytes();
    Some([kind[0], kind[1], tag[0], tag[1]])
}
