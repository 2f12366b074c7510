//! A tap at an interface's traffic control hooks: what a [`crate::ring_blocks::BlockRing`] gives,
//! for a third of the price.

use crate::clock;
use crate::filter::Match;
use crate::query;
use crate::ring::{self, Captured, pending_error};
use crate::stamp;
use crate::tcx::{self, Programs, Sender};
use aya::Pod;
use aya::maps::{MapData, RingBuf};
use aya::programs::links::FdLink;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Readers look at least this often: nothing wakes them.
pub const LOOK: Duration = Duration::from_millis(10);
/// An ether type for local experiments (IEEE 802): no packet of interest has it.
const NOBODY: u16 = 0x88b5;
/// Bytes that the ring holds: some 100 000 packets.
const RING: u32 = 16 << 20;
const SNAP: usize = 128;

/// As `struct event` in `bpf/tcx.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Event {
    time_ns: u64,
    length: u32,
    original: u32,
    outgoing: u32,
    tai: u32,
    data: [u8; SNAP],
}

// SAFETY: plain integers without padding.
unsafe impl Pod for Event {}

/// A tap on one interface, in both directions.
pub struct TcxTap {
    interface: u32,
    programs: Programs,
    events: RingBuf<MapData>,
    links: Vec<FdLink>,
    /// Says when the interface goes away, and has the kernel stamp what comes in.
    sentinel: OwnedFd,
}

impl TcxTap {
    /// Captures what passes the filter from now on. An interface with a queue is refused: what goes out
    /// would be seen before it has waited there, not after.
    pub fn open(interface: u32, wanted: &Match) -> io::Result<Self> {
        if query::has_queue(interface)? {
            return Err(io::Error::other("the interface has a queue"));
        }
        let sentinel = sentinel(interface)?;
        let mut programs = Programs::load(wanted, &Sender::default(), RING)?;
        let events = programs.events()?;
        let links = programs.attach(interface, "tap_incoming", "tap_outgoing")?.into();
        Ok(Self { interface, programs, events, links, sentinel })
    }

    /// A socket that is in error when the interface went away. It is never readable for a packet.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.sentinel.as_fd()
    }

    /// Lets no more packets in; those in the ring come out within two [`LOOK`] times.
    pub fn close_gate(&mut self) {
        self.links.clear();
    }

    /// Hands every packet in the ring to `take`; returns how many there were.
    pub fn drain(&mut self, mut take: impl FnMut(Captured<'_>)) -> io::Result<usize> {
        pending_error(self.fd())?;
        let tai_ahead_ns = clock::tai_ahead_ns()?;
        let mut packets = 0;
        while let Some(item) = self.events.next() {
            let event: &Event = tcx::record(&item);
            take(Captured {
                data: &event.data[..(event.length as usize).min(SNAP)],
                original: event.original,
                time_ns: event.time_ns as i64 - if event.tai == 0 { 0 } else { tai_ahead_ns },
                outgoing: event.outgoing != 0,
                interface: self.interface,
            });
            packets += 1;
        }
        Ok(packets)
    }

    /// How many packets found the ring full, so far.
    pub fn dropped(&self) -> io::Result<u32> {
        self.programs.dropped()
    }
}

impl fmt::Debug for TcxTap {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "TcxTap on interface {}", self.interface)
    }
}

/// A packet socket for packets that nobody sends.
pub(crate) fn sentinel(interface: u32) -> io::Result<OwnedFd> {
    let socket = ring::packet_socket()?;
    stamp::keep_receive_stamps_on(socket.as_fd())?;
    ring::bind(socket.as_fd(), interface, NOBODY)?;
    Ok(socket)
}
