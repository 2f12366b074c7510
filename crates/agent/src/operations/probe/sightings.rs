//! Observation of packets at the interface, for a sender by packet sockets: requests going out and replies
//! coming in.

use super::log::Log;
use super::programs::{TAKE, note_sent, open_programs, take_replies};
use super::route::{self, ProbeRoute};
use crate::protocol::measuring::{By, Probe};
use crate::timing::steady;
use delaylab_os::ring::Captured;
use delaylab_os::ring::frames::FrameRing;
use delaylab_os::socket::control_message::Step;
use delaylab_os::tcx::sender::TcxSender;
use delaylab_proto::Failure;
use delaylab_wire::{Leg, MAGIC, is_corrupted, parse};
use nix::errno::Errno;
use std::io;
use std::os::fd::BorrowedFd;

/// The most packets in the packet ring, a tenth of a second at 160 000 a second, and the most bytes.
const RING: usize = 16384;
const RING_BYTES: usize = 32 << 20;
/// The bytes of a reply that its sender did not have: an IPv4 header's options and VLAN tags.
const MORE: usize = 48;

/// The observer: programs at the interface where the kernel allows them, else a packet ring. The ring is
/// slower, since the kernel copies every packet into it and then still processes the reply.
#[derive(Debug)]
pub(super) enum Sightings {
    Tcx(Box<TcxSender>),
    Ring(FrameRing),
}

impl Sightings {
    pub(super) fn open(request: &Probe, route: &ProbeRoute) -> io::Result<Self> {
        let to = request.destination().map_err(|failure| io::Error::other(failure.to_string()))?;
        if let Some(programs) = open_programs(request, route.interface, to, route.ident) {
            return Ok(Self::Tcx(programs));
        }
        let ident = route.ident;
        // Whole frames, so that their checksums can be checked.
        let bytes = route.frame_length(request.size) + MORE;
        let filter = route::filter(request, to.ip(), ident, MAGIC, request.probe, bytes as u32);
        let frames = RING.min(RING_BYTES / bytes);
        FrameRing::open(route.interface, &filter, frames, bytes, request.wanted().stack)
            .map(Self::Ring)
    }

    /// Return the means by which it stamps.
    pub(super) fn by(&self) -> By {
        match self {
            Self::Tcx(_) => By::Tcx,
            Self::Ring(_) => By::Ring,
        }
    }

    /// Record the transmit times of the packets at places `first..end`, which the kernel has taken.
    pub(super) fn note_sent(&self, log: &mut Log, first: u32, end: u32) {
        if let Self::Tcx(programs) = self {
            note_sent(programs, log, first, end);
        }
    }

    /// Take pending packets and return their number.
    pub(super) fn take(&mut self, log: &mut Log, port: u16) -> usize {
        match self {
            Self::Tcx(programs) => take_replies(programs, log),
            Self::Ring(ring) => ring.drain(TAKE, |frame| note(log, &frame, port)),
        }
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        let checked = match self {
            Self::Tcx(programs) => programs.check(),
            Self::Ring(ring) => ring.check(),
        };
        checked.map_err(|error| match error.raw_os_error() {
            Some(errno) if errno == Errno::ENETDOWN as i32 => {
                Failure::new("probe", "the interface went down or vanished")
            }
            _ => Failure::new("receive replies", error),
        })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcx(programs) => programs.fd(),
            Self::Ring(ring) => ring.fd(),
        }
    }

    pub(super) fn dropped(&self) -> io::Result<u32> {
        match self {
            Self::Tcx(programs) => programs.dropped(),
            Self::Ring(ring) => ring.dropped(),
        }
    }
}

fn note(log: &mut Log, frame: &Captured<'_>, port: u16) {
    let Ok(sighting) = parse(frame.data) else { return };
    if !frame.outgoing && is_corrupted(frame.data) {
        return;
    }
    let Some(place) = log.place(sighting.probe.probe, sighting.probe.seq) else { return };
    match (sighting.leg(port), frame.outgoing) {
        (Some(Leg::Request), true) if log.awaits(place, Step::Stack, frame.time) => {
            log.note_transmit(place, Step::Stack, frame.time);
        }
        (Some(Leg::Reply), false) => {
            let ttl = Some(sighting.ttl);
            log.note_reply(place, Some(frame.time), ttl, steady::now_ns());
        }
        _ => {}
    }
}
