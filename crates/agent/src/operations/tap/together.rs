//! Taps at many interfaces by one packet ring of their network namespace.
//!
//! A ring for each interface, or programs at it, cost tens of milliseconds to set up. Hundreds of interfaces by
//! which a packet may come, and most of which it never passes, are watched by one ring.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::netlink::qdiscs::InterfaceQueues;
use delaylab_os::ring::blocks::{BlockRing, RETIRE};
use delaylab_os::socket::filter::Program;
use delaylab_os::stamps;
use delaylab_proto::{Context, Failure};

use super::counter::PacketCounter;
use super::sightings::Sightings;
use super::{LONGEST_RETIRE, queues};
use crate::protocol::measuring::By;
use crate::protocol::running::{Event, Order};
use crate::protocol::tapping::{Tap, TapCounts, TapDone, TapFilter, TapInterface};
use crate::session::Session;

/// An interface that the ring is for.
struct Tapped {
    interface: TapInterface,
    index: u32,
    counter: PacketCounter,
    queues: InterfaceQueues,
}

/// The ring with the interfaces that its packets come from.
struct Interfaces {
    ring: BlockRing,
    tapped: Vec<Tapped>,
    /// The number of each place, by the interface's index.
    numbers: HashMap<u32, u32>,
    filter: TapFilter,
}

/// Serve one request: stamp packets at all of its interfaces until the client stops it.
pub(super) fn serve(request: Tap, session: &mut Session) -> Result<TapDone, Failure> {
    let points: Vec<String> = request.interfaces.iter().map(|tap| tap.point.clone()).collect();
    let mut seen = Sightings::new(&request);
    let mut ring = Interfaces::open(request)?;
    stamps::settle().context("switch on receive stamps")?;
    session.event(&Event::READY)?;
    ring.run(&mut seen, session)?;
    let interfaces = ring.counts()?;
    seen.send(&points, session)?;
    Ok(TapDone { interfaces, uncaptured: 0 })
}

impl Interfaces {
    fn open(request: Tap) -> Result<Self, Failure> {
        let keeps = request.pcap.is_some() || request.capture_bytes > 0;
        if keeps || request.parts_ns.is_some() || request.filter.has_no_legs() {
            let what = "a ring of all interfaces keeps no packets, gives no parts, and needs legs";
            return Err(Failure::new("tap interfaces together", what));
        }
        let mut tapped = Vec::with_capacity(request.interfaces.len());
        for interface in request.interfaces {
            let what = format!("tap {}", interface.name);
            let index = nix::net::if_::if_nametoindex(interface.name.as_str()).context(&what)?;
            let queues = queues(index).context(&what)?;
            tapped.push(Tapped { interface, index, counter: PacketCounter::default(), queues });
        }
        let numbers = (0..).zip(&tapped).map(|(number, place)| (place.index, number)).collect();
        let ring = BlockRing::open_everywhere(&Program::frames(&request.filter.wanted()))
            .context("tap all interfaces")
            .map_err(|failure| failure.fix("a tap needs CAP_NET_RAW in its network namespace"))?;
        Ok(Self { ring, tapped, numbers, filter: request.filter })
    }

    fn run(&mut self, seen: &mut Sightings, session: &mut Session) -> Result<(), Failure> {
        loop {
            let ordered = self.wait(Some(session), None)?;
            self.drain(seen)?;
            let orders = if ordered { session.orders()? } else { Vec::new() };
            for order in orders {
                match order {
                    Order::Stop | Order::Closed => return self.close(seen),
                    Order::Pause(true) => self.close(seen)?,
                    Order::Pause(false) => {
                        let wanted = Program::frames(&self.filter.wanted());
                        wanted.attach(self.ring.fd()).context("tap all interfaces again")?;
                    }
                    _ => continue,
                }
                session.event(&Event::Paused(order == Order::Pause(true)))?;
            }
        }
    }

    /// Wait for packets or for an order; return true if there is an order.
    fn wait(&self, session: Option<&Session>, most: Option<Duration>) -> Result<bool, Failure> {
        let orders = session.map(|session| (session.input(), Interest::Read));
        let on: Vec<_> = std::iter::once((self.ring.fd(), Interest::Read)).chain(orders).collect();
        let ready = poll::wait(&on, most).context("wait for packets")?;
        Ok(session.is_some() && ready.last() == Some(&true))
    }

    fn drain(&mut self, seen: &mut Sightings) -> Result<(), Failure> {
        let Self { ring, tapped, numbers, filter } = self;
        let drained = ring.drain(|frame| {
            let Some(&point) = numbers.get(&frame.interface) else { return };
            seen.note_frame(&frame, point, &mut tapped[point as usize].counter, filter);
        });
        drained.map(|_| ()).context("tap all interfaces")
    }

    /// Let no more packets in, and take those that the kernel still holds.
    fn close(&mut self, seen: &mut Sightings) -> Result<(), Failure> {
        self.ring.close_gate().context("stop a tap")?;
        let closed = Instant::now();
        self.drain(seen)?;
        while !self.ring.is_empty().context("count a tap's packets")?
            && closed.elapsed() < LONGEST_RETIRE
        {
            self.wait(None, Some(RETIRE))?;
            self.drain(seen)?;
        }
        Ok(())
    }

    /// Return the counts of each place. What found the ring full is counted at the first.
    fn counts(&mut self) -> Result<Vec<TapCounts>, Failure> {
        let mut dropped = self.ring.missing().context("count a tap's packets")?;
        let mut counts = Vec::with_capacity(self.tapped.len());
        for place in &self.tapped {
            let now = queues(place.index).context(format!("tap {}", place.interface.name))?;
            let PacketCounter { packets, unparsed, repeated, unkept, unsent, .. } = place.counter;
            counts.push(TapCounts {
                point: place.interface.point.clone(),
                packets,
                dropped: std::mem::take(&mut dropped),
                unparsed,
                repeated,
                unkept,
                unsent,
                by: By::Ring,
                queue: place.queues.kind.clone(),
                queue_changed: now != place.queues,
                queue_after: now.kind,
            });
        }
        Ok(counts)
    }
}
