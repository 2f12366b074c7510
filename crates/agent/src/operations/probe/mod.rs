//! `probe`: a schedule of packets to a responder, with the sender's own stamps.

mod by_port;
mod connections;
mod datagrams;
mod engine;
mod entry;
mod exchange;
mod handshake;
mod icmp_errors;
mod live;
mod log;
mod observer;
mod packet;
mod parts;
mod reply;
mod request;
mod route;
mod rows;
mod schedule;
mod socket;
mod streams;

use delaylab_os::process::memory::Locked;
use delaylab_os::process::scheduling::RealTime;
use delaylab_os::stamps;
use delaylab_proto::{Context, Failure};

use super::tables::{send_exchanges, send_packets, send_stamps};
use crate::protocol::measuring::{Mode, Probe, ProbeDone, Warning, WarningKind};
use crate::protocol::running::Event;
use crate::session::Session;
use crate::timing::test_clock;
use engine::ProbePath;
use log::Log;

/// The real-time priority: above ordinary processes and below the kernel's own real-time threads (50).
const PRIORITY: i32 = 10;

/// Serve one request: send the tables `stamps` and `packets`.
pub(super) fn serve(request: Probe, session: &mut Session) -> Result<ProbeDone, Failure> {
    let request = request.checked()?;
    match request.mode {
        _ if request.protocol.has_streams() => {
            let path = streams::PathByStreams::open(&request)?;
            measure(&request, path, session)
        }
        _ if request.protocol.has_datagrams() => {
            let path = datagrams::PathByDatagrams::open(&request)?;
            measure(&request, path, session)
        }
        _ if request.protocol.connects() => {
            let path = connections::PathByConnections::open(&request)?;
            measure(&request, path, session)
        }
        Mode::Socket => {
            let path = socket::PathBySocket::open(&request)?;
            measure(&request, path, session)
        }
        Mode::Packet => {
            let path = packet::PathByPacketSocket::open(&request)?;
            measure(&request, path, session)
        }
    }
}

fn measure(
    request: &Probe,
    mut path: impl ProbePath,
    session: &mut Session,
) -> Result<ProbeDone, Failure> {
    let clock = test_clock::name().context("name this kernel's clock")?;
    let mut log = Log::new(request);
    let mut warnings = Vec::new();
    if request.wanted().stack {
        stamps::settle().context("switch on receive stamps")?;
    }
    let realtime = if request.realtime { become_realtime(&mut warnings) } else { None };
    let neighbour_ns = match request.resolve {
        true => route::resolve(request, request.destination()?, session.input()),
        false => None,
    };
    session.event(&Event::READY)?;
    let outcome = engine::run(request, &mut path, &mut log, session, realtime.is_some());
    let was_realtime = realtime.is_some();
    drop(realtime);
    outcome?;
    path.warn(&mut warnings);
    if log.mismatched > 0 {
        warnings.push(mismatched(log.mismatched));
    }
    if let Some(steps) = log.clock_steps.describe() {
        let remedy = "stop time synchronisation while measuring, or let it slew";
        warnings.push(Warning::new(WarningKind::ClockStep, steps, remedy));
    }
    send_stamps(session, &log::POINTS, log.stamps(log.places()))?;
    send_packets(session, log.packets(log.places()))?;
    send_exchanges(session, log.exchanges(log.places()))?;
    Ok(ProbeDone {
        sent: log.sent,
        replied: log.replied,
        warnings,
        realtime: was_realtime,
        clock,
        by: path.by(),
        neighbour_ns,
    })
}

fn mismatched(answers: u32) -> Warning {
    let answers = if answers == 1 { "1 answer was" } else { &format!("{answers} answers were") };
    Warning::new(
        WarningKind::MismatchedReplies,
        format!("{answers} no reply: from another address, or with other data than were sent"),
        "find out who sent it (`run --pcap`); it counts as no reply",
    )
}

/// Enter real-time scheduling and lock memory for the duration of the measurement. A failure is only a
/// warning: the measurement is still valid, with more slip.
fn become_realtime(warnings: &mut Vec<Warning>) -> Option<(RealTime, Option<Locked>)> {
    match RealTime::fifo(PRIORITY) {
        Ok(realtime) => Some((realtime, Locked::current().ok())),
        Err(error) => {
            warnings.push(Warning::new(
                WarningKind::NotRealtime,
                format!("the probe ran without real-time scheduling: {error}"),
                "run it as root, outside of a CPU cgroup without cpu.rt_runtime_us",
            ));
            None
        }
    }
}
