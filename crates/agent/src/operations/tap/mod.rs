//! `tap`: stamps of a probe's packets on interfaces of this network namespace, or at a service's sockets.

mod at_sockets;
mod capture;
mod counter;
mod sightings;
mod source;
mod together;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::netlink::RouteSocket;
use delaylab_os::netlink::qdiscs::InterfaceQueues;
use delaylab_os::ring::blocks::RETIRE;
use delaylab_os::stamps;
use delaylab_os::tcx::tap::Seen;
use delaylab_proto::{Context, Failure, Frame, Kind};
use delaylab_wire::Leg;
use nix::errno::Errno;

use super::tables::{Stamp, offer_stamps};
use crate::protocol::measuring::By;
use crate::protocol::running::{Event, Order};
use crate::protocol::tapping::{Tap, TapCounts, TapDone, TapFilter, TapInterface};
use crate::session::Session;
use capture::Capture;
use counter::PacketCounter;
use sightings::Sightings;
use source::Source;

/// The longest time in which a busy kernel is expected to hand over the last packets of a ring.
const LONGEST_RETIRE: Duration = Duration::from_secs(1);
/// The interval at which an interface that went down is looked for.
const LOOK_WHILE_DOWN: Duration = Duration::from_millis(100);
/// The most rows of one part of a table, which a stream takes at once.
const PART: usize = 160;
/// The most bytes of a capture in one frame.
const PIECE: usize = 1 << 20;
/// The most parts before packets are taken again.
const TURN: usize = 16;

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
    /// True if the interface went down, and no packet has come since.
    down: bool,
}

/// The source of packets that all taps of a request have.
struct Capturing {
    filter: TapFilter,
    /// True if programs at the interface may be used.
    tcx: bool,
    /// True if the packets themselves are wanted.
    frames: bool,
}

/// Serve one request: stamp packets until the client stops it.
pub(super) fn serve(request: Tap, session: &mut Session) -> Result<TapDone, Failure> {
    if let Some(sockets) = &request.sockets {
        return at_sockets::serve(&request, sockets, session);
    }
    if request.together {
        return together::serve(request, session);
    }
    let points: Vec<String> = request.interfaces.iter().map(|tap| tap.point.clone()).collect();
    let mut capture = match &request.pcap {
        Some(path) => Some(Capture::create(path, &points)?),
        None if request.capture_bytes > 0 => {
            Some(Capture::in_memory(request.capture_bytes, &points))
        }
        None => None,
    };
    let filter = request.filter;
    let frames = capture.is_some() || filter.has_no_legs();
    let capturing = Capturing { filter, tcx: request.tcx, frames };
    let seen = Sightings::new(&request);
    let mut taps = request
        .interfaces
        .into_iter()
        .map(|interface| Tapped::open(interface, &capturing))
        .collect::<Result<Vec<_>, _>>()?;
    stamps::settle().context("switch on receive stamps")?;
    session.event(&Event::READY)?;
    let mut seen = seen;
    let mut parts = Parts {
        points: &points,
        every: request.parts_ns.map(Duration::from_nanos),
        sent: Instant::now(),
    };
    run(&mut taps, &capturing, &mut seen, &mut capture, &mut parts, session)?;
    let mut uncaptured = 0;
    if let Some(mut capture) = capture {
        uncaptured = capture.finish()?;
        for piece in capture.kept().chunks(PIECE) {
            session.frame(&Frame::new(Kind::Stdout, piece))?;
        }
    }
    let queues = taps.iter().map(Tapped::queues_now).collect::<Result<Vec<_>, _>>()?;
    let counts = taps.iter_mut().zip(queues).map(|(tap, now)| tap.counts(now));
    let interfaces = counts.collect::<Result<Vec<_>, _>>()?;
    seen.send(&points, session)?;
    Ok(TapDone { interfaces, uncaptured })
}

fn run(
    taps: &mut [Tapped],
    capturing: &Capturing,
    seen: &mut Sightings,
    capture: &mut Option<Capture>,
    parts: &mut Parts,
    session: &mut Session,
) -> Result<(), Failure> {
    let filter = &capturing.filter;
    loop {
        let look = taps.iter().filter_map(Tapped::look).chain(parts.wait(seen)).min();
        let ordered = wait(taps, Some(session.input()), look)?;
        let mut drain = |taps: &mut [Tapped]| {
            (0u32..).zip(taps).try_for_each(|(point, tap)| tap.drain(point, filter, seen, capture))
        };
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
        parts.send(seen, session)?;
    }
}

/// The parts of the table `stamps` that the client gets while packets still come.
struct Parts<'a> {
    points: &'a [String],
    /// The least time between two parts; `None` for a tap that gives its table at its end.
    every: Option<Duration>,
    /// The time of the last part.
    sent: Instant,
}

impl Parts<'_> {
    /// Return the time until the next part, if there is something for it.
    fn wait(&self, seen: &Sightings) -> Option<Duration> {
        let waiting = seen.given < seen.stamps.len();
        let every = self.every.filter(|_| waiting)?;
        Some(every.saturating_sub(self.sent.elapsed()))
    }

    /// Send new stamps if their time has come. A client that reads too slowly gets the rest later.
    fn send(&mut self, seen: &mut Sightings, session: &mut Session) -> Result<(), Failure> {
        if self.every.is_none_or(|every| self.sent.elapsed() < every) {
            return Ok(());
        }
        for rows in seen.stamps[seen.given..].chunks(PART).take(TURN) {
            if !offer_stamps(session, self.points, rows)? {
                break;
            }
            seen.given += rows.len();
        }
        self.sent = Instant::now();
        Ok(())
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
    let sources = taps.iter().filter_map(|tap| tap.source.as_ref()).flat_map(Source::fds);
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
        let down = false;
        let mut tap =
            Self { interface, index, source, resting, by, counter, dropped, queues, down };
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
        let look = self.source.as_ref().and_then(Source::look);
        look.or(self.down.then_some(LOOK_WHILE_DOWN))
    }

    /// Take the packets that are ready.
    fn drain(
        &mut self,
        point: u32,
        filter: &TapFilter,
        sightings: &mut Sightings,
        capture: &mut Option<Capture>,
    ) -> Result<(), Failure> {
        let Self { source: Some(source), counter, down, .. } = self else { return Ok(()) };
        let mut take = |seen: Seen<'_>| match seen {
            Seen::Packet { probe, seq, reply, time } => {
                let leg = if reply { Leg::Reply } else { Leg::Request };
                let stamp = Stamp { probe, seq, leg, point, time_ns: time.ns() };
                sightings.note(stamp, counter, filter);
            }
            Seen::Frame(frame) => {
                if let Some(capture) = capture {
                    capture.write(point, &frame);
                }
                sightings.note_frame(&frame, point, counter, filter);
            }
            Seen::Corrupted(frame) => {
                if let (Some(capture), Some(frame)) = (&mut *capture, &frame) {
                    capture.write(point, frame);
                }
                counter.unparsed += 1;
            }
        };
        let drained = match source.drain(&mut take) {
            Err(error) if error.raw_os_error() == Some(Errno::ENETDOWN as i32) => {
                // The kernel reports the error once, and keeps the packets that came before it.
                *down = true;
                source.drain(&mut take)
            }
            Ok(taken) => {
                *down &= taken == 0;
                Ok(taken)
            }
            failed => failed,
        };
        drained.map_err(|error| self.failure(error))?;
        self.check_there()?;
        capture.as_mut().map_or(Ok(()), Capture::check)
    }

    fn failure(&self, error: io::Error) -> Failure {
        Failure::new(format!("tap {}", self.interface.name), error)
    }

    /// Check that an interface that went down has not vanished. No packet passes it until it is up again, and the
    /// source is then on it as before.
    fn check_there(&self) -> Result<(), Failure> {
        let name = self.interface.name.as_str();
        if !self.down || nix::net::if_::if_nametoindex(name) == Ok(self.index) {
            return Ok(());
        }
        Err(Failure::new(format!("tap {name}"), "the interface vanished"))
    }

    fn queues_now(&self) -> Result<InterfaceQueues, Failure> {
        queues(self.index).map_err(|error| self.failure(error))
    }

    fn counts(&mut self, now: InterfaceQueues) -> Result<TapCounts, Failure> {
        let resting = self.resting.as_mut().map_or(Ok(0), Source::dropped);
        let resting = resting.map_err(|error| self.failure(error))?;
        let PacketCounter { packets, unparsed, repeated, unkept, unsent, .. } = self.counter;
        Ok(TapCounts {
            point: self.interface.point.clone(),
            packets,
            dropped: self.dropped + resting,
            unparsed,
            repeated,
            unkept,
            unsent,
            by: self.by,
            queue: self.queues.kind.clone(),
            queue_changed: now != self.queues,
            queue_after: now.kind,
        })
    }
}

/// Read the queues of an interface of this network namespace.
fn queues(interface: u32) -> io::Result<InterfaceQueues> {
    InterfaceQueues::read(&RouteSocket::open()?, interface)
}
