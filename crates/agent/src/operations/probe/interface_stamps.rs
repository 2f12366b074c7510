//! The stamps of a probe's TCP segments at the interface, by a packet ring: the kernel stamps no SYN on a socket.

use super::log::Log;
use super::route;
use crate::protocol::measuring::{Probe, Protocol};
use delaylab_os::netlink::routing;
use delaylab_os::ring::Captured;
use delaylab_os::ring::frames::FrameRing;
use delaylab_os::socket::control_message::Step;
use delaylab_wire::{Leg, is_corrupted, parse_tcp};
use std::io;
use std::net::SocketAddr;

/// The number of packets in the ring, and the bytes of each: an Ethernet frame's, so that checksums can be checked.
const RING: usize = 4096;
const BYTES: usize = 1600;
/// The number of packets to take at once, so that sending never waits for long.
const TAKE: usize = 256;

/// A ring at the interface to the responder.
#[derive(Debug)]
pub(super) struct InterfaceStamps {
    ring: FrameRing,
    protocol: Protocol,
    port: u16,
    /// The place of the last packet from each source port, plus 1; 0 for none.
    places: Box<[u32]>,
}

impl InterfaceStamps {
    /// Start to stamp the packets of a probe. Needs `CAP_NET_RAW`.
    pub(super) fn open(request: &Probe, to: SocketAddr) -> io::Result<Self> {
        let interface = match to {
            SocketAddr::V6(to) if to.scope_id() != 0 => to.scope_id(),
            _ => routing::interface_to(to.ip())?,
        };
        let filter = route::filter(request, to.ip(), request.ident, 0, 0, BYTES as u32);
        let ring = FrameRing::open(interface, &filter, RING, BYTES, true)?;
        let places = vec![0; 1 << 16].into_boxed_slice();
        Ok(Self { ring, protocol: request.protocol, port: to.port(), places })
    }

    /// From now on take the segments of a source port for those of the packet at a place.
    pub(super) fn expect(&mut self, source_port: u16, place: u32) {
        self.places[usize::from(source_port)] = place + 1;
    }

    /// Record the stamps of the packets that have passed the interface. The ring has a reply before its socket does.
    pub(super) fn take(&mut self, log: &mut Log) {
        let Self { ring, protocol, port, places } = self;
        ring.drain(TAKE, |frame| note(log, &frame, *protocol, *port, places));
    }

    /// Fail with `ENETDOWN` if the interface has gone away.
    pub(super) fn check(&self) -> io::Result<()> {
        self.ring.check()
    }
}

/// Record the stamp of a packet, if it is the first of its leg.
fn note(log: &mut Log, frame: &Captured<'_>, protocol: Protocol, port: u16, places: &[u32]) {
    let Ok(segment) = parse_tcp(frame.data) else { return };
    let Some(leg) = protocol.leg(&segment, port) else { return };
    if !frame.outgoing && is_corrupted(frame.data) {
        // The kernel drops it, and awaits another one.
        return;
    }
    let Some(place) = places[usize::from(segment.sender_port(leg))].checked_sub(1) else { return };
    match (leg, frame.outgoing) {
        (Leg::Request, true) if log.awaits(place, Step::Stack, frame.time) => {
            log.note_transmit(place, Step::Stack, frame.time);
        }
        (Leg::Reply, false) => log.note_arrival(place, frame.time, segment.ttl),
        _ => {}
    }
}
