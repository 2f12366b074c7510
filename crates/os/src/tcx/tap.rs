//! A tap at an interface's traffic control hooks: the same packets as a [`crate::ring::blocks::BlockRing`],
//! at a third of the cost.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use std::{fmt, io};

use aya::Pod;
use aya::maps::{MapData, RingBuf};
use aya::programs::links::FdLink;

use super::{Programs, SenderSettings};
use crate::bpf::record;
use crate::clock::{self, Realtime};
use crate::netlink::interface;
use crate::ring::{Captured, open_sentinel};
use crate::socket::filter::Match;
use crate::socket::option::pending_error;

/// The longest time between two reads of the ring: nothing wakes the reader.
pub const LOOK: Duration = Duration::from_millis(10);
/// The sizes in bytes of a ring of whole packets and of one of their descriptions: room for 100 000 of
/// either.
const FRAMES_RING: u32 = 16 << 20;
const BRIEFS_RING: u32 = 4 << 20;
/// The maximum number of bytes kept of a packet: `SNAP` in `bpf/tcx.c`.
const SNAP: usize = 128;

/// The layout of `struct brief` in `bpf/tcx.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Brief {
    time_ns: u64,
    probe: u32,
    seq: u32,
    leg: u32,
    tai: u32,
}

/// The layout of `struct whole` in `bpf/tcx.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Whole {
    time_ns: u64,
    length: u32,
    original: u32,
    outgoing: u16,
    corrupted: u16,
    tai: u32,
    data: [u8; SNAP],
}

// SAFETY: plain integers without padding.
unsafe impl Pod for Brief {}
// SAFETY: plain integers without padding.
unsafe impl Pod for Whole {}

/// The reply's value of `enum leg` in `bpf/match.h`, and `CORRUPTED` of `bpf/tcx.c`.
const REPLY: u32 = 2;
const CORRUPTED: u32 = 4;

/// A packet that a tap has seen.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// A packet of the probe.
    Packet {
        /// The probe's number in the packet's header.
        probe: u32,
        /// The packet's sequence number within the probe.
        seq: u32,
        /// True for a reply.
        reply: bool,
        /// The kernel's stamp, in ns since the Unix epoch.
        time: Realtime,
    },
    /// The packet itself, to be parsed.
    Frame(Captured<'a>),
    /// A packet with a wrong checksum; itself, if packets are wanted.
    Corrupted(Option<Captured<'a>>),
}

/// A tap on one interface, in both directions.
pub struct TcxTap {
    interface: u32,
    programs: Programs,
    events: RingBuf<MapData>,
    links: Vec<FdLink>,
    /// A socket that reports when the interface goes away, and that makes the kernel stamp received packets;
    /// `None` while the tap is off.
    sentinel: Option<OwnedFd>,
}

impl TcxTap {
    /// Start to capture the packets that pass the filter; with `frames` capture the packets themselves.
    /// Refuse an interface with a queue: outgoing packets would be seen before their wait in it. Fails with
    /// the loader's text where the kernel lets no programs in.
    pub fn open(interface: u32, wanted: &Match, frames: bool) -> io::Result<Self> {
        if interface::has_queue(interface)? {
            return Err(io::Error::other("the interface has a queue"));
        }
        let sentinel = Some(open_sentinel(interface)?);
        let ring = if frames { FRAMES_RING } else { BRIEFS_RING };
        let mut programs = Programs::load(wanted, &SenderSettings::default(), ring, frames)?;
        let events = programs.events()?;
        let links = programs.attach(interface, "tap_incoming", "tap_outgoing")?.into();
        Ok(Self { interface, programs, events, links, sentinel })
    }

    /// Return a socket that is in error once the interface has gone away. It is never readable because of a
    /// packet.
    ///
    /// # Panics
    /// If the tap is off.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.sentinel.as_ref().expect("a tap that is on has a sentinel").as_fd()
    }

    /// Take the tap off its interface, where it then costs nothing; its programs stay loaded.
    pub fn turn_off(&mut self) {
        self.close_gate();
        self.sentinel = None;
    }

    /// Put the tap back, which takes far less time than to open another one.
    pub fn turn_on(&mut self) -> io::Result<()> {
        self.sentinel = Some(open_sentinel(self.interface)?);
        self.links = self.programs.attach(self.interface, "tap_incoming", "tap_outgoing")?.into();
        Ok(())
    }

    /// Let no more packets in. No program runs any more when this returns (`tcx_entry_sync` in the kernel's
    /// include/net/tcx.h), so the next [`TcxTap::drain`] takes the last packet.
    pub fn close_gate(&mut self) {
        self.links.clear();
    }

    /// Pass every packet in the ring to `take` and return the number of packets. Fails with `ENETDOWN` if the
    /// interface has gone away.
    pub fn drain(&mut self, mut take: impl FnMut(Seen<'_>)) -> io::Result<usize> {
        pending_error(self.fd())?;
        let tai_ahead_ns = clock::tai_ahead_ns()?;
        let utc = |time_ns: u64, tai: u32| {
            Realtime::from_ns(time_ns as i64 - i64::from(tai) * tai_ahead_ns)
        };
        let mut packets = 0;
        while let Some(item) = self.events.next() {
            if item.len() == size_of::<Brief>() {
                let Brief { time_ns, probe, seq, leg, tai } = *record(&item);
                let (reply, time) = (leg == REPLY, utc(time_ns, tai));
                take(match leg {
                    CORRUPTED => Seen::Corrupted(None),
                    _ => Seen::Packet { probe, seq, reply, time },
                });
            } else {
                let whole: &Whole = record(&item);
                let frame = Captured {
                    data: &whole.data[..(whole.length as usize).min(SNAP)],
                    original: whole.original,
                    time: utc(whole.time_ns, whole.tai),
                    outgoing: whole.outgoing != 0,
                    interface: self.interface,
                };
                take(match whole.corrupted {
                    0 => Seen::Frame(frame),
                    _ => Seen::Corrupted(Some(frame)),
                });
            }
            packets += 1;
        }
        Ok(packets)
    }

    /// Return how many packets found the ring full so far.
    pub fn dropped(&self) -> io::Result<u32> {
        self.programs.dropped()
    }
}

impl fmt::Debug for TcxTap {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "TcxTap on interface {}", self.interface)
    }
}
