//! A sender's programs at its interface: one notes when each request goes out, one takes the
//! replies, which then go no further into the kernel.

use crate::clock;
use crate::filter::Match;
use crate::qdisc;
use crate::ring::{Captured, pending_error};
use crate::tcx::{Programs, Sender};
use crate::tcx_shared::Shared;
use crate::tcx_tap::{drain, sentinel};
use aya::maps::{MapData, RingBuf};
use aya::programs::links::FdLink;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Bytes that the ring holds: some 25 000 replies.
const RING: u32 = 4 << 20;

/// The programs at work for one probe.
pub struct TcxSender {
    interface: u32,
    programs: Programs,
    replies: RingBuf<MapData>,
    sent: Shared,
    asleep: Shared,
    tai_ahead_ns: i64,
    _links: [FdLink; 2],
    sentinel: OwnedFd,
}

impl TcxSender {
    /// Takes the replies to a sender's packets and notes when these go out, from now on. An interface with
    /// a queue is refused: its packets would be noted before they have waited there, not after.
    pub fn open(interface: u32, wanted: &Match, sender: &Sender) -> io::Result<Self> {
        if qdisc::has_queue(interface)? {
            return Err(io::Error::other("the interface has a queue"));
        }
        let sentinel = sentinel(interface)?;
        let mut programs = Programs::load(wanted, sender, RING)?;
        let replies = programs.events()?;
        let (sent, asleep) = (programs.shared("SENT")?, programs.shared("ASLEEP")?);
        let _links = programs.attach(interface, "take_reply", "note_request")?;
        let tai_ahead_ns = clock::tai_ahead_ns()?;
        Ok(Self { interface, programs, replies, sent, asleep, tai_ahead_ns, _links, sentinel })
    }

    /// Readable when a reply has come: to wait for, since from now on a reply wakes who waits. The
    /// next [`Self::drain`] that finds one ends that.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.asleep.set(0, 1);
        // SAFETY: the ring owns the descriptor and lives as long as the result.
        unsafe { BorrowedFd::borrow_raw(self.replies.as_raw_fd()) }
    }

    /// The interface's error, if it went away.
    pub fn check(&self) -> io::Result<()> {
        pending_error(self.sentinel.as_fd())
    }

    /// Hands up to `limit` replies that have come to `take`; returns how many there were.
    pub fn drain(&mut self, limit: usize, take: impl FnMut(Captured<'_>)) -> usize {
        let taken = drain(&mut self.replies, self.interface, limit, self.tai_ahead_ns, take);
        if taken > 0 {
            self.asleep.set(0, 0);
        }
        taken
    }

    /// When the packet at a place first went out, in ns since the Unix epoch.
    #[must_use]
    pub fn sent_ns(&self, place: u32) -> Option<i64> {
        let tai = self.sent.get(place);
        (tai != 0).then(|| tai as i64 - self.tai_ahead_ns)
    }

    /// How many replies found the ring full, so far; those went on into the kernel.
    pub fn dropped(&self) -> io::Result<u32> {
        self.programs.dropped()
    }
}

impl fmt::Debug for TcxSender {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "TcxSender on interface {}", self.interface)
    }
}
