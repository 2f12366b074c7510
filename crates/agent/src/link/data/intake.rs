//! Receiving frames: one ring for all ports, with a share for each that no other port can take, and what a cable
//! carries of it.

use std::io;
use std::os::fd::BorrowedFd;

use delaylab_os::ring::frames::{FrameRing, Passing};
use delaylab_os::ring::shares::RingShares;
use delaylab_os::socket::filter::Program;
use delaylab_wire::{ETHERNET_HEADER, VLAN_TAG};

/// The number of frames that may arrive while the engine does not run. One port may use a fifth: 30 ms at 100
/// 000 frames a second.
const RING_FRAMES: usize = 16384;
const RING_BYTES: usize = 64 << 20;

pub(super) struct Intake {
    ring: FrameRing,
    shares: Result<RingShares, io::Error>,
    /// The ports of the frames taken together, one entry per frame.
    taken: Vec<u32>,
}

impl Intake {
    /// Start to receive whole frames of up to `longest` bytes from these interfaces.
    pub(super) fn open(interfaces: &[u32], longest: usize) -> io::Result<Self> {
        let frames = RING_FRAMES.min(RING_BYTES / longest);
        // Open the ring closed: frames that arrive before the program counts would be missing in its
        // counters.
        let ring = FrameRing::whole(&Program::nothing(), frames, longest)?;
        let shares = RingShares::attach(ring.fd(), interfaces, ring.frames());
        if shares.is_err() {
            Program::interfaces(interfaces).attach(ring.fd())?;
        }
        Ok(Self { ring, shares, taken: Vec::new() })
    }

    /// Return the reason why the ring is not divided among the ports, if it is not.
    pub(super) fn why_undivided(&self) -> Option<&io::Error> {
        self.shares.as_ref().err()
    }

    /// Return a descriptor that becomes readable when a frame has arrived.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }

    /// Pass up to `limit` frames that have arrived to `take` and return their number.
    pub(super) fn drain(&mut self, limit: usize, mut take: impl FnMut(Passing<'_>)) -> usize {
        let Self { ring, shares, taken } = self;
        let count = ring.drain_whole(limit, |passing| {
            taken.push(passing.captured.interface);
            take(passing);
        });
        // Only now: their slots in the ring must be free first.
        if let Ok(shares) = shares {
            shares.give_back(taken);
        }
        taken.clear();
        count
    }

    /// Return how many frames of a port were refused so far because they exceeded its share of the ring.
    pub(super) fn refused(&self, interface: u32) -> u64 {
        self.shares.as_ref().map_or(0, |shares| shares.refused(interface))
    }

    /// Return how many frames found the ring full since the last call.
    pub(super) fn dropped(&self) -> u64 {
        u64::from(self.ring.dropped().unwrap_or(0))
    }
}

/// Return the frame's length on a cable.
pub(super) fn length(passing: &Passing) -> usize {
    passing.captured.original as usize + passing.vlan.map_or(0, |tag| tag.len())
}

/// Return true if a cable carries a frame of this length.
pub(super) fn fits(passing: &Passing, longest: usize) -> bool {
    let data = passing.captured.data;
    let tagged = passing.vlan.is_some()
        || matches!(
            data.get(ETHERNET_HEADER - 2..ETHERNET_HEADER),
            Some([0x81, 0x00] | [0x88, 0xa8])
        );
    let longest = longest + if tagged { VLAN_TAG } else { 0 };
    let whole = passing.captured.original as usize == data.len();
    whole && (ETHERNET_HEADER..=longest).contains(&length(passing))
}
