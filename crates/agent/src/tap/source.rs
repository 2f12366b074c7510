//! What shows a tap its packets.

use delaylab_os::filter::{Match, Program};
use delaylab_os::ring_blocks::{BlockRing, RETIRE};
use delaylab_os::tcx_tap::{LOOK, Seen, TcxTap};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Programs at the interface where the kernel allows them and no queue stands between them and the driver;
/// else a packet ring, at three times the price for each packet.
#[derive(Debug)]
pub enum Source {
    Tcx(Box<TcxTap>),
    Ring(BlockRing),
}

impl Source {
    /// Starts to capture what is wanted; `tcx` says whether programs may be tried, `frames` whether the packets
    /// themselves are wanted.
    pub fn open(interface: u32, wanted: &Match, tcx: bool, frames: bool) -> io::Result<Self> {
        if tcx && let Ok(tap) = TcxTap::open(interface, wanted, frames) {
            return Ok(Self::Tcx(Box::new(tap)));
        }
        BlockRing::open(interface, &Program::frames(wanted)).map(Self::Ring)
    }

    /// The name by which records say which of the two it was.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcx(_) => "tcx",
            Self::Ring(_) => "ring",
        }
    }

    /// Readable when there are packets to take, if those wake a reader; in error when the interface went away.
    pub fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcx(tap) => tap.fd(),
            Self::Ring(ring) => ring.fd(),
        }
    }

    /// How often to look for packets that do not wake a reader.
    pub fn look(&self) -> Option<Duration> {
        matches!(self, Self::Tcx(_)).then_some(LOOK)
    }

    /// Lets no more packets in; those so far come out within [`Self::SETTLED`].
    pub fn close_gate(&mut self) -> io::Result<()> {
        match self {
            Self::Tcx(tap) => tap.close_gate(),
            Self::Ring(ring) => ring.close_gate()?,
        }
        Ok(())
    }

    /// Longer than any packet takes to come out.
    pub const SETTLED: Duration = Duration::from_millis(3 * RETIRE.as_millis() as u64);

    /// Hands every packet that is ready to `take`.
    pub fn drain(&mut self, mut take: impl FnMut(Seen<'_>)) -> io::Result<usize> {
        match self {
            Self::Tcx(tap) => tap.drain(take),
            Self::Ring(ring) => ring.drain(|frame| take(Seen::Frame(frame))),
        }
    }

    /// How many packets found the ring full; asked once.
    pub fn dropped(&self) -> io::Result<u32> {
        match self {
            Self::Tcx(tap) => tap.dropped(),
            Self::Ring(ring) => ring.dropped(),
        }
    }
}
