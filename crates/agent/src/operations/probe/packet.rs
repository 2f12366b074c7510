//! Probes by packet sockets. They bypass the host's own IP stack, so they are faster, and their stamps are
//! those of a tap on the interface instead of the stack's.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::clock::Monotonic;
use delaylab_os::socket::batch::SendBatch;
use delaylab_os::socket::{self, packet_socket};
use delaylab_proto::{Context, Failure};

use super::engine::ProbePath;
use super::log::Log;
use super::observer::Observer;
use super::route::ProbeRoute;
use crate::protocol::measuring::{By, Probe, Warning, WarningKind};

/// A packet socket for sending, and the observer of packets at the interface.
#[derive(Debug)]
pub(super) struct PathByPacketSocket {
    sender: OwnedFd,
    observer: Observer,
    route: ProbeRoute,
    /// True to stamp requests as they go out.
    stack: bool,
    outgoing: SendBatch,
}

impl PathByPacketSocket {
    pub(super) fn open(request: &Probe) -> Result<Self, Failure> {
        let route = ProbeRoute::find(request)?;
        let observer = Observer::open(request, &route).context("open packet sockets")?;
        let sender = packet_socket::open().context("open packet sockets")?;
        packet_socket::bind(sender.as_fd(), route.interface, 0).context("open packet sockets")?;
        socket::set_buffers(sender.as_fd(), socket::LARGE_BUFFER).context("open packet sockets")?;
        let length = route.frame_length(request.size);
        let outgoing = SendBatch::new(usize::from(request.batch), length);
        let stack = request.wanted().stack;
        Ok(Self { sender, observer, route, stack, outgoing })
    }
}

impl ProbePath for PathByPacketSocket {
    fn send(&mut self, log: &mut Log, first: u32, end: u32) -> Result<u32, Failure> {
        for place in first..end {
            self.route.emit(self.outgoing.slot((place - first) as usize), log.header(place));
        }
        let now = Monotonic::now();
        for place in first..end {
            log.note_sent(place, now);
        }
        let mut next = first;
        while next < end {
            let slots = ((next - first) as usize, (end - first) as usize);
            match self.outgoing.send(self.sender.as_fd(), slots.0, slots.1) {
                Ok(taken) => {
                    if self.stack {
                        self.observer.note_sent(log, next, next + taken as u32);
                    }
                    next += taken as u32;
                }
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
        Ok(self.observer.take(log, &self.route))
    }

    fn collect(&mut self, _: &mut Log) -> Result<(), Failure> {
        self.observer.check()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.observer.fd()
    }

    fn by(&self) -> By {
        self.observer.by()
    }

    fn warn(&self, warnings: &mut Vec<Warning>) {
        if let Ok(dropped @ 1..) = self.observer.dropped() {
            warnings.push(Warning::new(
                WarningKind::RepliesDropped,
                format!("{dropped} packets found the receive ring full"),
                "lengthen the interval; these replies count as lost",
            ));
        }
    }
}
