//! How frames come in: one ring for all ports, of which none can take another's part.

use std::io;
use std::os::fd::BorrowedFd;

use delaylab_os::filter::Program;
use delaylab_os::ring_frames::{FrameRing, Passing};
use delaylab_os::ring_shares::RingShares;

/// Frames that may come while the engine does not run; of one port a fifth: 30 ms at 100 000 a second.
const RING_FRAMES: usize = 16384;
const RING_BYTES: usize = 64 << 20;

pub struct Intake {
    ring: FrameRing,
    shares: Result<RingShares, io::Error>,
    /// By whose port frames came that were taken together.
    taken: Vec<u32>,
}

impl Intake {
    /// Whole frames of up to `longest` bytes that come by these interfaces from now on.
    pub fn open(interfaces: &[u32], longest: usize) -> io::Result<Self> {
        let frames = RING_FRAMES.min(RING_BYTES / longest);
        // What came before a program counts would be missing in its counts.
        let ring = FrameRing::whole(&Program::nothing(), frames, longest)?;
        let shares = RingShares::attach(ring.fd(), interfaces, ring.frames());
        if shares.is_err() {
            Program::interfaces(interfaces).attach(ring.fd())?;
        }
        Ok(Self { ring, shares, taken: Vec::new() })
    }

    /// Why the ring is not divided among the ports, if it is not.
    pub fn why_undivided(&self) -> Option<&io::Error> {
        self.shares.as_ref().err()
    }

    /// Readable when a frame has come.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }

    /// Hands up to `limit` frames that have come to `take`; returns how many there were.
    pub fn drain(&mut self, limit: usize, mut take: impl FnMut(Passing<'_>)) -> usize {
        let Self { ring, shares, taken } = self;
        let count = ring.drain_whole(limit, |passing| {
            taken.push(passing.captured.interface);
            take(passing);
        });
        // Not before their places in the ring are free.
        if let Ok(shares) = shares {
            shares.give_back(taken);
        }
        taken.clear();
        count
    }

    /// How many frames of a port were refused so far because it had its share of the ring.
    pub fn refused(&self, interface: u32) -> u64 {
        self.shares.as_ref().map_or(0, |shares| shares.refused(interface))
    }

    /// How many frames found the ring full, since the last call.
    pub fn dropped(&self) -> u64 {
        u64::from(self.ring.dropped().unwrap_or(0))
    }
}
