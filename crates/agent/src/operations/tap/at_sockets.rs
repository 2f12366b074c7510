//! A tap at the sockets of a service, in place of interfaces.

use std::time::Duration;

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::service_tap::{LOOK, ServiceTap};
use delaylab_proto::{Context, Failure};

use super::counter::PacketCounter;
use super::sightings::Sightings;
use crate::protocol::measuring::By;
use crate::protocol::running::{Event, Order};
use crate::protocol::tapping::{Tap, TapCounts, TapDone, TapFilter, TapSockets};
use crate::session::Session;

/// A tap at sockets, and what it has counted.
struct AtSockets {
    tap: ServiceTap,
    counter: PacketCounter,
    filter: TapFilter,
}

/// Serve one request: stamp packets at the sockets of the responder's port until the client stops it.
pub(super) fn serve(
    request: &Tap,
    sockets: &TapSockets,
    session: &mut Session,
) -> Result<TapDone, Failure> {
    let filter = request.filter;
    let keeps = request.pcap.is_some() || request.capture_bytes > 0 || request.parts_ns.is_some();
    if keeps || !request.interfaces.is_empty() || filter.port == 0 {
        let what = "a tap at sockets needs a port, has no interfaces, and keeps no packets";
        return Err(Failure::new("tap sockets", what));
    }
    let TapSockets { point, namespace } = sockets;
    let tap = ServiceTap::open(&filter.wanted(), filter.port, *namespace).context("tap sockets")?;
    let mut taken = AtSockets { tap, counter: PacketCounter::default(), filter };
    let mut seen = Sightings::new(request);
    session.event(&Event::READY)?;
    taken.run(&mut seen, session)?;
    let counts = taken.counts(point)?;
    seen.send(std::slice::from_ref(point), session)?;
    Ok(TapDone { interfaces: vec![counts], uncaptured: 0 })
}

impl AtSockets {
    fn run(&mut self, seen: &mut Sightings, session: &mut Session) -> Result<(), Failure> {
        loop {
            let ordered = wait(session, LOOK)?;
            self.drain(seen)?;
            for order in if ordered { session.orders()? } else { Vec::new() } {
                match order {
                    Order::Stop | Order::Closed => return self.close(seen),
                    Order::Pause(true) => self.close(seen)?,
                    Order::Pause(false) => self.tap.turn_on().context("tap sockets again")?,
                    _ => continue,
                }
                session.event(&Event::Paused(order == Order::Pause(true)))?;
            }
        }
    }

    /// Let no more packets in, and take those that are there.
    fn close(&mut self, seen: &mut Sightings) -> Result<(), Failure> {
        self.tap.turn_off();
        self.drain(seen)
    }

    fn drain(&mut self, seen: &mut Sightings) -> Result<(), Failure> {
        let Self { tap, counter, filter } = self;
        let drained = tap.drain(|frame| seen.note_frame(&frame, 0, counter, filter));
        drained.map(|_| ()).context("tap sockets")
    }

    fn counts(&self, point: &str) -> Result<TapCounts, Failure> {
        let PacketCounter { packets, unparsed, repeated, unkept, unsent, .. } = self.counter;
        Ok(TapCounts {
            point: point.to_owned(),
            packets,
            dropped: self.tap.dropped().context("count a tap's packets")?,
            unparsed,
            repeated,
            unkept,
            unsent,
            by: By::Socket,
            queue: String::new(),
            queue_after: String::new(),
            queue_changed: false,
        })
    }
}

/// Wait for an order; return true if there is one.
fn wait(session: &Session, most: Duration) -> Result<bool, Failure> {
    let ready = poll::wait(&[(session.input(), Interest::Read)], Some(most));
    Ok(ready.context("wait for orders")?.last() == Some(&true))
}
