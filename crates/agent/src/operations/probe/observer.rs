//! Observation of packets at the interface, where the sender's sockets do not stamp them: requests going out and
//! replies coming in.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use delaylab_os::clock::Monotonic;
use delaylab_os::ring::Captured;
use delaylab_os::ring::frames::FrameRing;
use delaylab_os::socket;
use delaylab_os::socket::control_message::Step;
use delaylab_os::socket::filter::{Match, Transport};
use delaylab_os::stamps::{self, Wanted};
use delaylab_os::tcx::SenderSettings;
use delaylab_os::tcx::sender::TcxSender;
use delaylab_proto::Failure;
use delaylab_wire::{EthernetView, IpRepr, IpView, Leg, MAGIC, is_corrupted, parse};
use nix::errno::Errno;

use super::by_port::StampsAtInterface;
use super::log::Log;
use super::reply::{OTHER_DATA, another_address};
use super::route::{self, ProbeRoute};
use crate::protocol::measuring::{By, Probe, Protocol};

/// The most packets in the packet ring, a tenth of a second at 160 000 a second, and the most bytes.
const RING: usize = 16384;
const RING_BYTES: usize = 32 << 20;
/// The bytes of a reply that its sender did not have: an IPv4 header's options and VLAN tags.
const MORE: usize = 48;

/// The observer: programs at the interface where the kernel allows them, else a packet ring. The ring is
/// slower, since the kernel copies every packet into it and then still processes the reply.
#[derive(Debug)]
pub(super) enum Observer {
    Tcx(Box<TcxSender>),
    Ring(FrameRing),
}

impl Observer {
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
    pub(super) fn take(&mut self, log: &mut Log, route: &ProbeRoute) -> usize {
        match self {
            Self::Tcx(programs) => take_replies(programs, log),
            Self::Ring(ring) => ring.drain(TAKE, |frame| note(log, &frame, route)),
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

fn note(log: &mut Log, frame: &Captured<'_>, route: &ProbeRoute) {
    let Ok(sighting) = parse(frame.data) else { return };
    if !frame.outgoing && is_corrupted(frame.data) {
        return;
    }
    let Some(place) = log.place(sighting.probe.probe, sighting.probe.seq) else { return };
    match (sighting.leg(route.port), frame.outgoing) {
        (Some(Leg::Request), true) if log.awaits(place, Step::Stack, frame.time) => {
            log.note_transmit(place, Step::Stack, frame.time);
        }
        (Some(Leg::Reply), false) => {
            let from = source(frame).filter(|from| *from != route.to());
            if let Some(from) = from {
                log.note_mismatched(place, &another_address(from), None);
            } else if sighting.probe != log.header(place) {
                log.note_mismatched(place, OTHER_DATA, None);
            } else {
                let ttl = Some(sighting.ttl);
                log.note_reply(place, Some(frame.time), ttl, Monotonic::now());
            }
        }
        _ => {}
    }
}

/// Return the address that a frame's packet came from.
fn source(frame: &Captured<'_>) -> Option<IpAddr> {
    let ethernet = EthernetView::new(frame.data).ok()?;
    Some(IpRepr::parse(&IpView::in_frame(&ethernet).ok()?).ok()?.from)
}

/// The number of packets to take at once, so that sending never waits for long.
pub(super) const TAKE: usize = 256;

/// Attach the programs for a probe, if the request allows them and the kernel accepts them.
fn open_programs(
    request: &Probe,
    interface: u32,
    to: SocketAddr,
    ident: u16,
) -> Option<Box<TcxSender>> {
    if !request.tcx {
        return None;
    }
    let (transport, port) = match request.protocol {
        Protocol::Icmp => (Transport::Icmp(ident), 0),
        Protocol::Udp => (Transport::Udp(to.port()), ident),
        _ => return None,
    };
    let ip = if to.is_ipv4() { 4 } else { 6 };
    let wanted = Match { transport, ip, probe: request.probe, magic: MAGIC, snap: 128 };
    let (first_seq, count) = (request.first_seq, request.count);
    let sender = SenderSettings { port, first_seq, count, responder: Some(to.ip()) };
    TcxSender::open(interface, &wanted, &sender).ok().map(Box::new)
}

/// Attach the programs for a probe by a socket, if it measures rates: a closed loop without qdisc stamps. Its
/// replies need not pass this host's own stack.
pub(super) fn open_for_socket(
    request: &Probe,
    fd: BorrowedFd<'_>,
    to: SocketAddr,
    ident: u16,
) -> Option<Box<TcxSender>> {
    let stack_only = Wanted { qdisc: false, stack: true };
    if request.interval_ns != 0 || request.live || request.wanted() != stack_only {
        return None;
    }
    let interface = request.egress(to).ok()?;
    // Replies that arrive at another interface get their stamps from the socket.
    stamps::keep_receive_stamps_on(fd).ok()?;
    let port = socket::local_address(fd).ok()?.port();
    let ident = if request.protocol == Protocol::Udp { port } else { ident };
    open_programs(request, interface, to, ident)
}

/// Record the transmit times of the packets at places `first..end`, which the kernel has taken.
pub(super) fn note_sent(programs: &TcxSender, log: &mut Log, first: u32, end: u32) {
    for place in first..end {
        if let Some(time) = programs.sent(place) {
            log.note_transmit(place, Step::Stack, time);
        }
    }
}

/// Take replies from the programs and return their number.
pub(super) fn take_replies(programs: &mut TcxSender, log: &mut Log) -> usize {
    let mut now = Monotonic::now();
    programs.drain(TAKE, |reply| {
        // One clock read serves all replies that had arrived by then.
        if reply.time > log.clock_steps.clock_at(now) {
            now = Monotonic::now();
        }
        let Some(place) = log.place_of_seq(reply.seq) else { return };
        if reply.nonce == log.header(place).nonce {
            log.note_reply(place, Some(reply.time), Some(reply.ttl), now);
        } else {
            log.note_mismatched(place, OTHER_DATA, None);
        }
    })
}

/// The number of packets in the ring, and the bytes of each: an Ethernet frame's, so that checksums can be checked.
pub(super) const SEGMENT_RING: usize = 4096;
pub(super) const BYTES: usize = 1600;

/// The stamps of packets at the interface that are known by their source port, by a packet ring: the kernel stamps no
/// SYN on a socket.
#[derive(Debug)]
pub(super) struct InterfaceStamps {
    ring: FrameRing,
    protocol: Protocol,
    port: u16,
    /// The place of the last packet from each source port, plus 1; 0 for none.
    places: Box<[u32]>,
}

impl InterfaceStamps {
    /// Start to stamp the packets of a probe, if it wants these stamps. Needs `CAP_NET_RAW`.
    pub(super) fn if_wanted(request: &Probe, to: SocketAddr) -> io::Result<Self> {
        if !request.wanted().stack {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let interface = request.egress(to)?;
        let filter = route::filter(request, to.ip(), request.ident, 0, 0, BYTES as u32);
        let ring = FrameRing::open(interface, &filter, SEGMENT_RING, BYTES, true)?;
        let places = vec![0; 1 << 16].into_boxed_slice();
        Ok(Self { ring, protocol: request.protocol, port: to.port(), places })
    }

    /// From now on take the segments of a source port for those of the packet at a place.
    pub(super) fn expect(&mut self, source_port: u16, place: u32) {
        self.places[usize::from(source_port)] = place + 1;
    }
}

impl StampsAtInterface for InterfaceStamps {
    fn take(&mut self, log: &mut Log) {
        let Self { ring, protocol, port, places } = self;
        ring.drain(TAKE, |frame| note_segment(log, &frame, *protocol, *port, places));
    }

    fn check(&self) -> io::Result<()> {
        self.ring.check()
    }
}

/// Record the stamp of a packet, if it is the first of its leg.
fn note_segment(
    log: &mut Log,
    frame: &Captured<'_>,
    protocol: Protocol,
    port: u16,
    places: &[u32],
) {
    let Ok(Some(packet)) = protocol.packet_in(frame.data, port) else { return };
    if !frame.outgoing && is_corrupted(frame.data) {
        // The kernel drops it, and awaits another one.
        return;
    }
    let Some(place) = places[usize::from(packet.port)].checked_sub(1) else { return };
    match (packet.leg, frame.outgoing) {
        (Leg::Request, true) if log.awaits(place, Step::Stack, frame.time) => {
            log.note_transmit(place, Step::Stack, frame.time);
        }
        (Leg::Reply, false) => log.note_arrival(place, frame.time, packet.ttl),
        _ => {}
    }
}
