//! `tap`: stamps of a probe's packets on interfaces of this network namespace.

mod counter;
mod source;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::netlink::Route;
use delaylab_os::netlink::qdiscs::InterfaceQueues;
use delaylab_os::ring::blocks::RETIRE;
use delaylab_os::stamps;
use delaylab_os::tcx::tap::Seen;
use delaylab_proto::{Context, Failure};
use delaylab_wire::Leg;
use nix::errno::Errno;

use super::tables::{Stamp, send_repeats, send_stamps};
use crate::protocol::measuring::{By, Tap, TapCounts, TapDone, TapFilter, TapInterface};
use crate::protocol::running::{Event, Order};
use crate::session::Session;
use counter::PacketCounter;
use source::{Capture, Source};

/// The longest time in which a busy kernel is expected to hand over the last packets of a ring.
const LONGEST_RETIRE: Duration = Duration::from_secs(1);

/// A tap at one interface.
struct Tapped {
    interface: TapInterface,
    index: u32,
    /// The source of the packets; `None` while the tap pauses.
    source: Option<Source>,
    /// A source that pauses and can be put back.
    resting: Option<Source>,
    by: By,
    counter: PacketCounter,
    /// The packets dropped by sources that were closed.
    dropped: u32,
    queues: InterfaceQueues,
}

/// The packets seen at the points of a request.
struct Sightings {
    /// The first sighting of each packet at each point.
    stamps: Vec<Stamp>,
    /// The further ones.
    repeats: Vec<Stamp>,
}

/// The way in which all taps of a request get their packets.
struct Capturing {
    filter: TapFilter,
    /// True if programs at the interface may be used.
    tcx: bool,
    /// True if the packets themselves are wanted.
    frames: bool,
}

/// Serve one request: stamp packets until the client stops it.
pub(super) fn serve(request: Tap, session: &mut Session) -> Result<TapDone, Failure> {
    let points: Vec<String> = request.interfaces.iter().map(|tap| tap.point.clone()).collect();
    let mut capture = match &request.pcap {
        Some(path) => Some(Capture::create(path, &points)?),
        None => None,
    };
    let filter = request.filter;
    let frames = capture.is_some() || filter.has_no_legs();
    let capturing = Capturing { filter, tcx: request.tcx, frames };
    let mut taps = request
        .interfaces
        .into_iter()
        .map(|interface| Tapped::open(interface, &capturing))
        .collect::<Result<Vec<_>, _>>()?;
    stamps::settle().context("switch on receive stamps")?;
    session.event(&Event::READY)?;
    let mut seen = Sightings { stamps: Vec::with_capacity(1 << 16), repeats: Vec::new() };
    run(&mut taps, &capturing, &mut seen, &mut capture, session)?;
    if let Some(capture) = &mut capture {
        capture.finish()?;
    }
    let queues = taps.iter().map(Tapped::queues_now).collect::<Result<Vec<_>, _>>()?;
    let counts = taps.iter_mut().zip(queues).map(|(tap, now)| tap.counts(now));
    let interfaces = counts.collect::<Result<Vec<_>, _>>()?;
    send_stamps(session, &points, seen.stamps.into_iter())?;
    send_repeats(session, &points, seen.repeats.into_iter())?;
    Ok(TapDone { interfaces })
}

fn run(
    taps: &mut [Tapped],
    capturing: &Capturing,
    seen: &mut Sightings,
    capture: &mut Option<Capture>,
    session: &mut Session,
) -> Result<(), Failure> {
    let filter = &capturing.filter;
    let mut drain = |taps: &mut [Tapped]| {
        (0u32..).zip(taps).try_for_each(|(point, tap)| tap.drain(point, filter, seen, capture))
    };
    loop {
        let look = taps.iter().filter_map(Tapped::look).min();
        let ordered = wait(taps, Some(session.input()), look)?;
        drain(taps)?;
        let orders = if ordered { session.orders()? } else { Vec::new() };
        for order in orders {
            match order {
                Order::Stop | Order::Closed => return close(taps, &mut drain),
                Order::Pause(true) => close(taps, &mut drain)?,
                Order::Pause(false) => {
                    for tap in taps.iter_mut() {
                        tap.resume(capturing)?;
                    }
                    stamps::settle().context("switch on receive stamps")?;
                }
                _ => continue,
            }
            session.event(&Event::Paused(order == Order::Pause(true)))?;
        }
    }
}

/// Take the taps off their interfaces, after the packets that they have captured.
fn close(
    taps: &mut [Tapped],
    drain: &mut impl FnMut(&mut [Tapped]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // Earlier packets may lie in blocks that are not full: they become readable when the kernel retires the
    // blocks.
    for tap in taps.iter_mut() {
        let closed = tap.source.as_mut().map_or(Ok(()), Source::close_gate);
        closed.map_err(|error| tap.failure(error))?;
    }
    let closed = Instant::now();
    drain(taps)?;
    while !all_empty(taps)? && closed.elapsed() < LONGEST_RETIRE {
        wait(taps, None, Some(RETIRE))?;
        drain(taps)?;
    }
    taps.iter_mut().try_for_each(Tapped::detach)
}

fn all_empty(taps: &mut [Tapped]) -> Result<bool, Failure> {
    for tap in taps {
        let empty = tap.source.as_mut().map_or(Ok(true), Source::is_empty);
        if !empty.map_err(|error| tap.failure(error))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Wait for packets on any tap or for an order; return true if there is an order.
fn wait(
    taps: &[Tapped],
    orders: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
) -> Result<bool, Failure> {
    let sources = taps.iter().filter_map(|tap| tap.source.as_ref()).map(Source::fd);
    let on: Vec<_> = sources.chain(orders).map(|fd| (fd, Interest::Read)).collect();
    let ready = poll::wait(&on, timeout).context("wait for packets")?;
    Ok(orders.is_some() && ready.last() == Some(&true))
}

impl Tapped {
    fn open(interface: TapInterface, capturing: &Capturing) -> Result<Self, Failure> {
        let what = format!("tap {}", interface.name);
        let index = nix::net::if_::if_nametoindex(interface.name.as_str()).context(&what)?;
        let queues = queues(index).context(&what)?;
        let counter = PacketCounter::default();
        let (source, resting, by, dropped) = (None, None, By::Ring, 0);
        let mut tap = Self { interface, index, source, resting, by, counter, dropped, queues };
        tap.resume(capturing)?;
        Ok(tap)
    }

    /// Put the tap on its interface, if it is not there.
    fn resume(&mut self, capturing: &Capturing) -> Result<(), Failure> {
        if self.source.is_none() {
            let Capturing { filter, tcx, frames } = capturing;
            let source = match self.resting.take() {
                Some(mut source) => source.turn_on().map(|()| source),
                None => Source::open(self.index, &filter.wanted(), *tcx, *frames),
            };
            let source = source.map_err(|error| {
                let fix = "a tap needs CAP_NET_RAW in its network namespace";
                self.failure(error).fix(fix)
            })?;
            self.by = source.by();
            self.source = Some(source);
        }
        Ok(())
    }

    /// Take the tap off its interface, if it is there.
    fn detach(&mut self) -> Result<(), Failure> {
        if let Some(source) = self.source.take() {
            match source.turn_off().map_err(|error| self.failure(error))? {
                Ok(source) => self.resting = Some(source),
                Err(dropped) => self.dropped += dropped,
            }
        }
        Ok(())
    }

    /// Return the interval at which to poll for packets that do not wake a reader.
    fn look(&self) -> Option<Duration> {
        self.source.as_ref().and_then(Source::look)
    }

    /// Take the packets that are ready.
    fn drain(
        &mut self,
        point: u32,
        filter: &TapFilter,
        sightings: &mut Sightings,
        capture: &mut Option<Capture>,
    ) -> Result<(), Failure> {
        let Self { source: Some(source), counter, .. } = self else { return Ok(()) };
        let drained = source.drain(|seen| {
            let stamp = match seen {
                Seen::Packet { probe, seq, reply, time } => {
                    let leg = if reply { Leg::Reply } else { Leg::Request };
                    Some(Stamp { probe, seq, leg, point, time_ns: time.ns() })
                }
                Seen::Frame(frame) => {
                    if let Some(capture) = capture {
                        capture.write(point, &frame);
                    }
                    counter.parse(&frame, point, filter)
                }
                Seen::Corrupted(frame) => {
                    if let (Some(capture), Some(frame)) = (&mut *capture, &frame) {
                        capture.write(point, frame);
                    }
                    counter.unparsed += 1;
                    None
                }
            };
            if let Some(stamp) = stamp {
                let new = counter.is_new(&stamp);
                let list = if new { &mut sightings.stamps } else { &mut sightings.repeats };
                list.push(stamp);
            }
        });
        drained.map_err(|error| self.failure(error))?;
        capture.as_mut().map_or(Ok(()), Capture::check)
    }

    fn failure(&self, error: io::Error) -> Failure {
        let what = format!("tap {}", self.interface.name);
        if error.raw_os_error() == Some(Errno::ENETDOWN as i32) {
            return Failure::new(what, "the interface went down or vanished");
        }
        Failure::new(what, error)
    }

    fn queues_now(&self) -> Result<InterfaceQueues, Failure> {
        queues(self.index).map_err(|error| self.failure(error))
    }

    fn counts(&mut self, now: InterfaceQueues) -> Result<TapCounts, Failure> {
        let resting = self.resting.as_mut().map_or(Ok(0), Source::dropped);
        let resting = resting.map_err(|error| self.failure(error))?;
        let PacketCounter { packets, unparsed, repeated, .. } = self.counter;
        Ok(TapCounts {
            point: self.interface.point.clone(),
            packets,
            dropped: self.dropped + resting,
            unparsed,
            repeated,
            by: self.by,
            queue: self.queues.kind.clone(),
            queue_changed: now != self.queues,
            queue_after: now.kind,
        })
    }
}

/// Read the queues of an interface of this network namespace.
fn queues(interface: u32) -> io::Result<InterfaceQueues> {
    InterfaceQueues::read(&Route::open()?, interface)
}
