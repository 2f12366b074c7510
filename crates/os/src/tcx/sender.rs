//! A sender's programs at its interface: one stamps each request as it goes out, the other takes the replies,
//! which then go no further into the kernel.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::{fmt, io};

use aya::Pod;
use aya::maps::{MapData, RingBuf};
use aya::programs::links::FdLink;

use super::{Programs, SenderSettings};
use crate::bpf::SharedArray;
use crate::bpf::record;
use crate::clock::{self, Realtime};
use crate::netlink::interface;
use crate::ring::open_sentinel;
use crate::socket::filter::Match;
use crate::socket::option::pending_error;

/// The size of the ring in bytes, for some 20 000 replies. A larger ring would not fit into the CPU's cache.
const RING: u32 = 512 << 10;

/// The layout of `struct reply` in `bpf/tcx.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ReplyLayout {
    time_ns: u64,
    nonce: u64,
    seq: u32,
    ttl: u8,
    tai: u8,
    reserved: u16,
}

// SAFETY: plain integers without padding.
unsafe impl Pod for ReplyLayout {}

/// A reply that has come to the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The probe's sequence number.
    pub seq: u32,
    /// The nonce in the probe header.
    pub nonce: u64,
    /// The remaining time to live or hop limit.
    pub ttl: u8,
    /// The kernel's receive stamp, in ns since the Unix epoch.
    pub time: Realtime,
}

/// The attached programs of one probe.
pub struct TcxSender {
    interface: u32,
    programs: Programs,
    replies: RingBuf<MapData>,
    sent: SharedArray,
    asleep: SharedArray,
    tai_ahead_ns: i64,
    _links: [FdLink; 2],
    sentinel: OwnedFd,
}

impl TcxSender {
    /// Start to take the replies to a sender's packets and to stamp outgoing requests. Refuse an interface
    /// with a queue: the stamp would precede the wait in that queue. Fails with the loader's text where the
    /// kernel lets no programs in.
    pub fn open(interface: u32, wanted: &Match, sender: &SenderSettings) -> io::Result<Self> {
        if interface::has_queue(interface)? {
            return Err(io::Error::other("the interface has a queue"));
        }
        let sentinel = open_sentinel(interface)?;
        let mut programs = Programs::load(wanted, sender, RING, false)?;
        let replies = programs.events()?;
        let (sent, asleep) = (programs.shared("SENT")?, programs.shared("ASLEEP")?);
        let _links = programs.attach(interface, "take_reply", "note_request")?;
        let tai_ahead_ns = clock::tai_ahead_ns()?;
        Ok(Self { interface, programs, replies, sent, asleep, tai_ahead_ns, _links, sentinel })
    }

    /// Return a descriptor that becomes readable when a reply has come. From now on replies wake the waiting
    /// thread, until the next [`Self::drain`] that finds one.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.asleep.set(0, 1);
        // SAFETY: the ring owns the descriptor and lives as long as the result.
        unsafe { BorrowedFd::borrow_raw(self.replies.as_raw_fd()) }
    }

    /// Fail with `ENETDOWN` if the interface has gone away.
    pub fn check(&self) -> io::Result<()> {
        pending_error(self.sentinel.as_fd())
    }

    /// Pass up to `limit` replies that have come to `take` and return the number of replies.
    pub fn drain(&mut self, limit: usize, mut take: impl FnMut(Reply)) -> usize {
        let mut taken = 0;
        while taken < limit
            && let Some(item) = self.replies.next()
        {
            let event: &ReplyLayout = record(&item);
            let ahead_ns = if event.tai == 0 { 0 } else { self.tai_ahead_ns };
            let time = Realtime::from_ns(event.time_ns as i64 - ahead_ns);
            take(Reply { seq: event.seq, nonce: event.nonce, ttl: event.ttl, time });
            taken += 1;
        }
        if taken > 0 {
            self.asleep.set(0, 0);
        }
        taken
    }

    /// Return the first transmit time of the packet at a place, in ns since the Unix epoch.
    #[must_use]
    pub fn sent(&self, place: u32) -> Option<Realtime> {
        let tai = self.sent.get(place);
        (tai != 0).then(|| Realtime::from_ns(tai as i64 - self.tai_ahead_ns))
    }

    /// Return how many replies found the ring full so far; those went on into the kernel.
    pub fn dropped(&self) -> io::Result<u32> {
        self.programs.dropped()
    }
}

impl fmt::Debug for TcxSender {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "TcxSender on interface {}", self.interface)
    }
}
