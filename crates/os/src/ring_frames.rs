//! A receive ring of frames (`TPACKET_V2`): every packet is visible at once, so that a reader
//! can wait for it.

use crate::filter::Program;
use crate::ring::{Captured, Mapped, pending_error, time_ns};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

const BLOCK: usize = 64 << 10;
const FRAME: usize = 256;

/// A ring of frames of up to about 190 bytes each.
#[derive(Debug)]
pub struct FrameRing {
    mapped: Mapped,
    frames: usize,
    next: usize,
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
        let blocks = (frames * FRAME).div_ceil(BLOCK);
        let frames = blocks * (BLOCK / FRAME);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: frames as u32,
        };
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        let mapped = Mapped::open(interface, filter, version, &request, blocks * BLOCK, outgoing)?;
        Ok(Self { mapped, frames, next: 0 })
    }

    /// The socket: readable when a packet has come, in error when the interface went away.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.mapped.fd()
    }

    /// The interface's error, if it went away.
    pub fn check(&self) -> io::Result<()> {
        pending_error(self.fd())
    }

    /// Hands up to `limit` packets that have come to `take`; returns how many there were.
    pub fn drain(&mut self, limit: usize, mut take: impl FnMut(Captured<'_>)) -> usize {
        for packets in 0..limit {
            let offset = self.next * FRAME;
            let header = self.mapped.at(offset, FRAME).cast::<libc::tpacket2_hdr>();
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

    fn packet(&self, header: &libc::tpacket2_hdr, offset: usize) -> Captured<'_> {
        let length = header.tp_snaplen as usize;
        let data = self.mapped.at(offset + usize::from(header.tp_mac), length);
        // SAFETY: the data lies in a frame that is this process's until `drain` gives it back,
        // after the borrow of `self` that the result carries.
        let data = unsafe { std::slice::from_raw_parts(data, length) };
        let (outgoing, interface) = self.mapped.address(offset, size_of::<libc::tpacket2_hdr>());
        let time_ns = time_ns(header.tp_sec, header.tp_nsec);
        Captured { data, original: header.tp_len, time_ns, outgoing, interface }
    }

    /// How many packets the kernel dropped because the ring was full, since the last call.
    pub fn dropped(&self) -> io::Result<u32> {
        self.mapped.dropped()
    }
}
