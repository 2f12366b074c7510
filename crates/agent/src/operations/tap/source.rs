//! The source of a tap's packets.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use delaylab_os::ring::blocks::BlockRing;
use delaylab_os::socket::filter::{Match, Program, Transport};
use delaylab_os::tcx::tap::{LOOK, Seen, TcxTap};
use delaylab_wire::MAGIC;

use crate::protocol::measuring::{By, Protocol};
use crate::protocol::tapping::TapFilter;

/// The source of a tap's packets: programs at the interface, where the kernel allows them and no queue lies
/// between them and the driver, else a packet ring, which costs three times as much per packet.
#[derive(Debug)]
pub(super) enum Source {
    Tcx(Box<TcxTap>),
    Ring(BlockRing),
}

impl Source {
    /// Start to capture the wanted packets. `tcx` is true if programs may be used, `frames` if the packets
    /// themselves are wanted.
    pub(super) fn open(
        interface: u32,
        wanted: &Match,
        tcx: bool,
        frames: bool,
    ) -> io::Result<Self> {
        if tcx && let Ok(tap) = TcxTap::open(interface, wanted, frames) {
            return Ok(Self::Tcx(Box::new(tap)));
        }
        BlockRing::open(interface, Program::frames(wanted)).map(Self::Ring)
    }

    /// Take the source off its interface. Return it if it can be put back, else how many packets found it full.
    pub(super) fn turn_off(mut self) -> io::Result<Result<Self, u32>> {
        match &mut self {
            Self::Tcx(tap) => tap.turn_off(),
            Self::Ring(ring) => return ring.missing().map(Err),
        }
        Ok(Ok(self))
    }

    /// Put the source back on its interface.
    pub(super) fn turn_on(&mut self) -> io::Result<()> {
        match self {
            Self::Tcx(tap) => tap.turn_on(),
            Self::Ring(_) => Ok(()),
        }
    }

    /// Return the name of the source in records.
    pub(super) fn by(&self) -> By {
        match self {
            Self::Tcx(_) => By::Tcx,
            Self::Ring(_) => By::Ring,
        }
    }

    /// Return the descriptors to wait for. One is readable when there are packets, if these wake a reader. One is in
    /// error when the interface has gone away.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let (first, second) = match self {
            Self::Tcx(tap) => (tap.fd(), None),
            Self::Ring(ring) => (ring.fd(), ring.sentinel()),
        };
        std::iter::once(first).chain(second)
    }

    /// Return the interval at which to poll for packets that do not wake a reader.
    pub(super) fn look(&self) -> Option<Duration> {
        matches!(self, Self::Tcx(_)).then_some(LOOK)
    }

    /// Let no more packets in.
    pub(super) fn close_gate(&mut self) -> io::Result<()> {
        match self {
            Self::Tcx(tap) => tap.close_gate(),
            Self::Ring(ring) => ring.close_gate()?,
        }
        Ok(())
    }

    /// Return true if no captured packet is left to drain. Close the gate and drain once before asking.
    pub(super) fn is_empty(&mut self) -> io::Result<bool> {
        match self {
            Self::Tcx(_) => Ok(true),
            Self::Ring(ring) => ring.is_empty(),
        }
    }

    /// Pass every packet that is ready to `take`.
    pub(super) fn drain(&mut self, mut take: impl FnMut(Seen<'_>)) -> io::Result<usize> {
        match self {
            Self::Tcx(tap) => tap.drain(take),
            Self::Ring(ring) => ring.drain(|frame| take(Seen::Frame(frame))),
        }
    }

    /// Return how many packets were not captured because the ring was full.
    pub(super) fn dropped(&mut self) -> io::Result<u32> {
        match self {
            Self::Tcx(tap) => tap.dropped(),
            Self::Ring(ring) => ring.missing(),
        }
    }
}

/// The bytes that a ring keeps of a packet, to check its checksum: all of it. Of TCP, all that an Ethernet frame
/// carries: longer segments are of this machine's own making, and their checksums left to the interface.
const WHOLE: u32 = 65535 + 18;
const WHOLE_SEGMENT: u32 = 2048;

impl TapFilter {
    /// Return true if requests and replies cannot be told apart.
    pub(crate) fn has_no_legs(&self) -> bool {
        self.protocol == Protocol::Udp && self.port == 0
    }

    /// Return the filter for the kernel.
    pub(crate) fn wanted(&self) -> Match {
        let transport = match self.protocol {
            Protocol::Icmp => Transport::Icmp(self.ident),
            Protocol::Udp => Transport::Udp(self.port),
            Protocol::Tcp => Transport::Tcp(self.port),
            Protocol::Http | Protocol::Https => Transport::TcpData(self.port),
            Protocol::Dns | Protocol::Datagram => Transport::Datagrams(self.port),
        };
        let (ip, probe) = (self.ip, self.probe);
        let snap = if self.protocol.connects() { WHOLE_SEGMENT } else { WHOLE };
        Match { transport, ip, probe, magic: MAGIC, snap }
    }
}
