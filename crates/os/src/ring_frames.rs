//! A receive ring of frames (`TPACKET_V2`): every packet is visible at once, so that a reader
//! can wait for it.

use crate::filter::Program;
use crate::ring::{Captured, Mapped, pending_error, time_ns};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

const BLOCK: usize = 64 << 10;
const FRAME: usize = 256;
/// What the kernel puts before a frame: its header, an address, room for the Ethernet header to end
/// at a multiple of 16 bytes (net/packet/af_packet.c, `tpacket_rcv`).
const HEADROOM: usize = 80;
const CACHE_LINE: usize = 64;

/// A ring of frames, by default of up to about 190 bytes each.
#[derive(Debug)]
pub struct FrameRing {
    mapped: Mapped,
    frames: usize,
    size: usize,
    block: usize,
    next: usize,
}

/// A frame that is to be sent on.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// The frame and when it came.
    pub captured: Captured<'a>,
    /// The tag that the kernel took out of the frame, from its type on.
    pub vlan: Option<[u8; 4]>,
    /// Whether its checksums are in it, not left to an interface that it would leave by.
    pub finished: bool,
}

impl FrameRing {
    /// Captures what passes the filter on an interface (0: on all) from now on, with `outgoing` also what
    /// leaves by it; room for at least `frames` packets.
    pub fn open(
        interface: u32,
        filter: &Program,
        frames: usize,
        outgoing: bool,
    ) -> io::Result<Self> {
        Self::sized(interface, filter, frames, outgoing, FRAME)
    }

    /// Captures what comes in by any interface and passes the filter, in whole: frames of up to `bytes`
    /// from their Ethernet headers on.
    pub fn whole(filter: &Program, frames: usize, bytes: usize) -> io::Result<Self> {
        let size = (HEADROOM + bytes).next_multiple_of(CACHE_LINE);
        Self::sized(0, filter, frames, false, size)
    }

    fn sized(
        interface: u32,
        filter: &Program,
        frames: usize,
        outgoing: bool,
        size: usize,
    ) -> io::Result<Self> {
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

    /// The socket: readable when a packet has come, in error when the interface went away.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.mapped.fd()
    }

    /// How many packets there is room for.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// The interface's error, if it went away.
    pub fn check(&self) -> io::Result<()> {
        pending_error(self.fd())
    }

    /// Hands up to `limit` packets that have come to `take`; returns how many there were.
    pub fn drain(&mut self, limit: usize, mut take: impl FnMut(Captured<'_>)) -> usize {
        self.drain_whole(limit, |passing| take(passing.captured))
    }

    /// The same, with what is needed to send them on.
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
        let time_ns = time_ns(header.tp_sec, header.tp_nsec);
        let captured = Captured { data, original: header.tp_len, time_ns, outgoing, interface };
        let finished = header.tp_status & libc::TP_STATUS_CSUMNOTREADY == 0;
        Passing { captured, vlan: vlan(header), finished }
    }

    /// How many packets the kernel dropped because the ring was full, since the last call.
    pub fn dropped(&self) -> io::Result<u32> {
        self.mapped.dropped()
    }
}

/// The tag that is not in the frame but beside it.
fn vlan(header: &libc::tpacket2_hdr) -> Option<[u8; 4]> {
    if header.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let told = header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let kind = if told { header.tp_vlan_tpid } else { 0x8100 }.to_be_bytes();
    let tag = header.tp_vlan_tci.to_be_bytes();
    Some([kind[0], kind[1], tag[0], tag[1]])
}
