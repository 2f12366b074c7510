//! How a sender by packet sockets sees its packets go and their replies come.

use super::log::Log;
use super::request::{Protocol, Request};
use super::route::{self, Route};
use delaylab_os::clock::realtime_ns;
use delaylab_os::control::Step;
use delaylab_os::filter::{Match, Transport};
use delaylab_os::ring::Captured;
use delaylab_os::ring_frames::FrameRing;
use delaylab_os::tcx::Sender;
use delaylab_os::tcx_sender::TcxSender;
use delaylab_proto::Failure;
use delaylab_wire::{Leg, MAGIC, parse};
use nix::errno::Errno;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// Packets that the packet ring holds: a tenth of a second at 160 000 a second.
const RING: usize = 16384;
/// Packets to take at once, so that sending never waits for long.
const DRAIN: usize = 256;

/// Programs at the interface where the kernel allows them, else a packet ring: slower, since the kernel copies every
/// packet into it and then goes on with the reply.
#[derive(Debug)]
pub enum Sightings {
    Tcx(Box<TcxSender>),
    Ring(FrameRing),
}

impl Sightings {
    pub fn open(request: &Request, route: &Route) -> io::Result<Self> {
        let to = request.destination().map_err(|failure| io::Error::other(failure.to_string()))?;
        if let Some(programs) = programs(request, route.interface, to, route.ident) {
            return Ok(Self::Tcx(Box::new(programs)));
        }
        let ident = route.ident;
        let filter = route::filter(request, to.ip(), ident, MAGIC, request.probe);
        FrameRing::open(route.interface, &filter, RING, request.wanted().stack).map(Self::Ring)
    }

    /// The name by which records say which of the two it was.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcx(_) => "tcx",
            Self::Ring(_) => "ring",
        }
    }

    /// Notes when the packets at places `first..end`, which the kernel has taken, went out.
    pub fn note_sent(&self, log: &mut Log, first: u32, end: u32) {
        if let Self::Tcx(programs) = self {
            note_sent(programs, log, first, end);
        }
    }

    /// Takes what has come; returns how many packets there were.
    pub fn take(&mut self, log: &mut Log, port: u16) -> usize {
        match self {
            Self::Tcx(programs) => take_replies(programs, log),
            Self::Ring(ring) => ring.drain(DRAIN, |frame| note(log, &frame, port)),
        }
    }

    pub fn check(&self) -> Result<(), Failure> {
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

    pub fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcx(programs) => programs.fd(),
            Self::Ring(ring) => ring.fd(),
        }
    }

    pub fn dropped(&self) -> io::Result<u32> {
        match self {
            Self::Tcx(programs) => programs.dropped(),
            Self::Ring(ring) => ring.dropped(),
        }
    }
}

/// A sender's programs at an interface, if they may be tried and the kernel lets them in.
pub fn programs(
    request: &Request,
    interface: u32,
    to: SocketAddr,
    ident: u16,
) -> Option<TcxSender> {
    if !request.tcx {
        return None;
    }
    let (transport, port) = match request.protocol {
        Protocol::Icmp => (Transport::Icmp(ident), 0),
        Protocol::Udp => (Transport::Udp(to.port()), ident),
    };
    let ip = if to.is_ipv4() { 4 } else { 6 };
    let wanted = Match { transport, ip, probe: request.probe, magic: MAGIC, snap: 128 };
    let sender = Sender { port, first_seq: request.first_seq, count: request.count };
    TcxSender::open(interface, &wanted, &sender).ok()
}

/// Notes when the packets at places `first..end`, which the kernel has taken, went out.
pub fn note_sent(programs: &TcxSender, log: &mut Log, first: u32, end: u32) {
    for place in first..end {
        if let Some(time) = programs.sent_ns(place) {
            log.note_transmit(place, Step::Stack, time);
        }
    }
}

/// Takes replies from the programs; returns how many there were.
pub fn take_replies(programs: &mut TcxSender, log: &mut Log) -> usize {
    let mut now = realtime_ns();
    programs.drain(DRAIN, |reply| {
        // One look at the clock does for those that were there by then.
        if reply.time_ns > now {
            now = realtime_ns();
        }
        if let Some(place) = log.place_of_seq(reply.seq) {
            log.note_reply(place, Some(reply.time_ns), Some(reply.ttl), now);
        }
    })
}

fn note(log: &mut Log, frame: &Captured<'_>, port: u16) {
    let Ok(sighting) = parse(frame.data) else { return };
    let Some(place) = log.place(sighting.probe.probe, sighting.probe.seq) else { return };
    match (sighting.leg(port), frame.outgoing) {
        (Some(Leg::Request), true) if log.awaits(place, Step::Stack, frame.time_ns) => {
            log.note_transmit(place, Step::Stack, frame.time_ns);
        }
        (Some(Leg::Reply), false) => {
            let ttl = Some(sighting.ttl);
            log.note_reply(place, Some(frame.time_ns), ttl, realtime_ns());
        }
        _ => {}
    }
}
