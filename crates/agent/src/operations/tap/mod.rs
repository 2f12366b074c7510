//! `tap`: stamps of a probe's packets on interfaces of this network namespace.

mod capture;
mod counts;
mod request;
mod seen;
mod source;

use super::tables::{Stamp, send_stamps};
use crate::session::{Order, Session};
use capture::Capture;
use counts::Counts;
use delaylab_os::tcx::tap::Seen;
use delaylab_os::time::stamps;
use delaylab_proto::{Context, Failure};
use delaylab_wire::Leg;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use request::{Filter, Interface, Request};
use serde::Serialize;
use serde_json::{Value, json};
use source::Source;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// The counts of one tap.
#[derive(Serialize)]
struct Summary<'a> {
    point: &'a str,
    packets: u64,
    dropped: u32,
    unparsed: u64,
    repeated: u64,
    /// The source of the packets: `tcx` or `ring`.
    by: &'static str,
}

struct Tap {
    interface: Interface,
    source: Source,
    counts: Counts,
}

/// Serve one request: stamp packets until the client stops it.
pub fn serve(request: Value, session: &mut Session) -> Result<Value, Failure> {
    let request: Request = serde_json::from_value(request).context("read tap request")?;
    let points: Vec<String> = request.interfaces.iter().map(|tap| tap.point.clone()).collect();
    let mut capture = match &request.pcap {
        Some(path) => Some(Capture::create(path, &points)?),
        None => None,
    };
    let filter = request.filter;
    let mut taps = request
        .interfaces
        .into_iter()
        .map(|interface| Tap::open(interface, &filter, request.tcx, capture.is_some()))
        .collect::<Result<Vec<_>, _>>()?;
    stamps::settle().context("switch on receive stamps")?;
    session.event(json!({"ready": true}))?;
    let mut stamps = Vec::with_capacity(1 << 16);
    run(&mut taps, &filter, &mut stamps, &mut capture, session)?;
    if let Some(capture) = &mut capture {
        capture.finish()?;
    }
    let interfaces = taps.iter().map(Tap::summary).collect::<Result<Vec<_>, _>>()?;
    send_stamps(session, &points, stamps.into_iter())?;
    Ok(json!({"interfaces": interfaces}))
}

fn run(
    taps: &mut [Tap],
    filter: &Filter,
    stamps: &mut Vec<Stamp>,
    capture: &mut Option<Capture>,
    session: &mut Session,
) -> Result<(), Failure> {
    let mut drain = |taps: &mut [Tap]| {
        (0u32..).zip(taps).try_for_each(|(point, tap)| tap.drain(point, filter, stamps, capture))
    };
    loop {
        let look = taps.iter().filter_map(|tap| tap.source.look()).min();
        let ordered = wait(taps, Some(session.input()), look)?;
        drain(taps)?;
        let ends = |order: &Order| matches!(order, Order::Stop | Order::Closed);
        if ordered && session.orders()?.iter().any(ends) {
            break;
        }
    }
    // Earlier packets may lie in blocks that are not full: they become readable when the kernel retires the
    // blocks.
    for tap in taps.iter_mut() {
        tap.source.close_gate().map_err(|error| tap.failure(error))?;
    }
    let closed = Instant::now();
    while closed.elapsed() < Source::SETTLED {
        wait(taps, None, Some(Source::SETTLED.saturating_sub(closed.elapsed())))?;
        drain(taps)?;
    }
    Ok(())
}

/// Wait for packets on any tap or for an order; return true if there is an order.
fn wait(
    taps: &[Tap],
    orders: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
) -> Result<bool, Failure> {
    let timeout = timeout
        .map_or(PollTimeout::NONE, |time| PollTimeout::try_from(time).unwrap_or(PollTimeout::ZERO));
    let fds = taps.iter().map(|tap| tap.source.fd()).chain(orders);
    let mut fds: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    match poll(&mut fds, timeout) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(Failure::new("wait for packets", error)),
    }
    let order = fds.get(taps.len()).and_then(PollFd::revents);
    Ok(order.is_some_and(|events| !events.is_empty()))
}

impl Tap {
    fn open(interface: Interface, filter: &Filter, tcx: bool, pcap: bool) -> Result<Self, Failure> {
        let what = format!("tap {}", interface.name);
        let index = nix::net::if_::if_nametoindex(interface.name.as_str()).context(&what)?;
        let frames = pcap || filter.has_no_legs();
        let source = Source::open(index, &filter.wanted(), tcx, frames).map_err(|error| {
            Failure::new(&what, error).fix("a tap needs CAP_NET_RAW in its network namespace")
        })?;
        Ok(Self { interface, source, counts: Counts::default() })
    }

    /// Take the packets that are ready.
    fn drain(
        &mut self,
        point: u32,
        filter: &Filter,
        stamps: &mut Vec<Stamp>,
        capture: &mut Option<Capture>,
    ) -> Result<(), Failure> {
        let Self { source, counts, .. } = self;
        let drained = source.drain(|seen| {
            let stamp = match seen {
                Seen::Packet { probe, seq, reply, time_ns } => {
                    let leg = if reply { Leg::Reply } else { Leg::Request };
                    Some(Stamp { probe, seq, leg, point, time_ns })
                }
                Seen::Frame(frame) => {
                    if let Some(capture) = capture {
                        capture.write(point, &frame);
                    }
                    counts.parse(&frame, point, filter)
                }
            };
            stamps.extend(stamp.filter(|stamp| counts.is_new(stamp)));
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

    fn summary(&self) -> Result<Summary<'_>, Failure> {
        let dropped = self.source.dropped().map_err(|error| self.failure(error))?;
        let Counts { packets, unparsed, repeated, .. } = self.counts;
        let (point, by) = (self.interface.point.as_str(), self.source.name());
        Ok(Summary { point, packets, dropped, unparsed, repeated, by })
    }
}
