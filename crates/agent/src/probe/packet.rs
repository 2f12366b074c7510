//! Probes by packet sockets: past the host's own IP stack, so faster, and with the stamps of a
//! tap on the interface in place of the stack's.

use super::engine::Way;
use super::log::Log;
use super::request::Request;
use super::route::{self, Route};
use super::warning;
use delaylab_os::clock::realtime_ns;
use delaylab_os::ring;
use delaylab_os::ring_frames::FrameRing;
use delaylab_os::socket;
use delaylab_os::socket_batch::SendBatch;
use delaylab_os::stamp::Step;
use delaylab_proto::Failure;
use delaylab_wire::{Leg, MAGIC, ProbeRepr, parse};
use nix::errno::Errno;
use serde_json::Value;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Packets that the receive ring holds: a tenth of a second at 160 000 a second.
const RING: usize = 16384;
/// Packets to take at once, so that sending never waits for long.
const DRAIN: usize = 256;
const BUFFERS: usize = 16 << 20;

/// A packet socket to send by, and a ring to receive by.
#[derive(Debug)]
pub struct PacketWay {
    sender: OwnedFd,
    ring: FrameRing,
    route: Route,
    probe: u32,
    outgoing: SendBatch,
}

impl PacketWay {
    pub fn open(request: &Request) -> Result<Self, Failure> {
        let route = Route::find(request)?;
        let to = request.destination()?.ip();
        let failure = |error: io::Error| Failure::new("open packet sockets", error);
        let filter = route::filter(request, to, route.ident, MAGIC, request.probe);
        let stack = request.wanted().stack;
        let ring = FrameRing::open(route.interface, &filter, RING, stack).map_err(failure)?;
        let sender = ring::packet_socket().map_err(failure)?;
        ring::bind(sender.as_fd(), route.interface, 0).map_err(failure)?;
        socket::set_buffers(sender.as_fd(), BUFFERS).map_err(failure)?;
        let length = route.frame_length(request.size);
        let outgoing = SendBatch::new(usize::from(request.batch), length);
        Ok(Self { sender, ring, route, probe: request.probe, outgoing })
    }
}

impl Way for PacketWay {
    fn send(&mut self, log: &mut Log, first: u32, end: u32) -> Result<u32, Failure> {
        for place in first..end {
            let intended_ns = log.entries[place as usize].intended;
            let repr = ProbeRepr { probe: self.probe, seq: log.seq(place), intended_ns };
            self.route.emit(self.outgoing.slot((place - first) as usize), repr);
        }
        let now = realtime_ns();
        for place in first..end {
            log.note_sent(place, now);
        }
        let mut next = first;
        while next < end {
            let slots = ((next - first) as usize, (end - first) as usize);
            match self.outgoing.send(self.sender.as_fd(), slots.0, slots.1) {
                Ok(taken) => next += taken as u32,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    (next..end).for_each(|place| log.note_held_back(place));
                    return Ok(next);
                }
                Err(error) => {
                    log.note_refused(next, &error.to_string());
                    next += 1;
                }
            }
        }
        Ok(end)
    }

    fn receive(&mut self, log: &mut Log) -> Result<usize, Failure> {
        let port = self.route.port;
        let count = self.ring.drain(DRAIN, |frame| {
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
        });
        Ok(count)
    }

    fn collect(&mut self, _: &mut Log) -> Result<(), Failure> {
        match self.ring.check() {
            Err(error) if error.raw_os_error() == Some(Errno::ENETDOWN as i32) => {
                Err(Failure::new("probe", "the interface went down or vanished"))
            }
            Err(error) => Err(Failure::new("receive replies", error)),
            Ok(()) => Ok(()),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }

    fn warn(&self, warnings: &mut Vec<Value>) {
        if let Ok(dropped @ 1..) = self.ring.dropped() {
            warnings.push(warning(
                "replies-dropped",
                format!("{dropped} packets found the receive ring full"),
                "lengthen the interval; these replies count as lost",
            ));
        }
    }
}
