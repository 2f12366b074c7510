//! Live events, one for each packet, for clients that watch a running probe.

use super::entry::NEVER;
use super::log::Log;
use crate::protocol::measuring::{LivePacket, Outcome, Probe};
use crate::protocol::running::Event;
use crate::session::Session;
use crate::timing::test_clock;
use delaylab_os::clock::{Monotonic, Span};
use delaylab_proto::{Context, Failure};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// The least time without other work that writing events requires: 150 µs.
pub(super) const ROOM: Span = Span::from_ns(150_000);
/// The least time between two reports. The client that reads one takes the CPU's caches from the sender, whose
/// next packet is then some 10 µs slower: of 100 packets a second, 10 have a report before them.
const PAUSE: Span = Span::from_ns(100_000_000);
/// The most events before the client's orders are looked at again.
const TURN: u32 = 256;
/// The most events after the client has stopped the probe: about as many as a pipe holds.
const LAST: u32 = 256;

/// The progress of the reports.
#[derive(Debug)]
pub(super) struct Live {
    late: Span,
    /// The address of all answers, if only that one can answer: that of a connection.
    only: Option<String>,
    /// The first place for which it is not yet decided whether the packet is lost.
    undecided: u32,
    /// The time of the last report.
    reported: Monotonic,
}

impl Live {
    pub(super) fn new(request: &Probe) -> Self {
        let only = request.protocol.by_port().then(|| request.to.clone());
        Self { late: Span::from_ns(request.late_ns), only, undecided: 0, reported: NEVER }
    }

    /// Return the time of the next report, if a packet waits for one and there is time before `next`; else
    /// `next`.
    pub(super) fn due(&self, log: &Log, now: Monotonic, next: Monotonic) -> Monotonic {
        let waiting = log.settled.as_ref().is_some_and(|settled| !settled.is_empty());
        let due = now.max(self.reported + PAUSE);
        if waiting && next - due >= ROOM { due } else { next }
    }

    /// Report settled packets if there is time before `next`. A packet without a reply for `late` is
    /// reported as lost, and again if its reply still arrives.
    pub(super) fn report(
        &mut self,
        log: &mut Log,
        session: &mut Session,
        sent: u32,
        now: Monotonic,
        next: Monotonic,
    ) -> Result<(), Failure> {
        if log.settled.is_none() || next - now < ROOM || now - self.reported < PAUSE {
            return Ok(());
        }
        // A client that reads too slowly must not hold up the sender: it gets the rest later. Nor must one that
        // reads a backlog as fast as it is written, whose order to stop would not be heard.
        let mut left = TURN;
        while left > 0 && session.has_room() && self.report_settled(log, session)? {
            left -= 1;
        }
        while left > 0 && self.undecided < sent && session.has_room() {
            let entry = &log.entries[self.undecided as usize];
            if entry.sent != NEVER && entry.replied == NEVER && now - entry.sent <= self.late {
                break;
            }
            self.report_if_lost(log, session)?;
            left -= 1;
        }
        if left > 0 {
            self.reported = now;
        }
        Ok(())
    }

    /// Report all remaining packets, unless the client gives an order: it has the tables.
    pub(super) fn finish(&mut self, log: &mut Log, session: &mut Session) -> Result<(), Failure> {
        self.report_rest(log, session, |session| {
            session.await_room().context("wait for the reader of live packets")
        })
    }

    /// Report those of the remaining packets for which there is room at once, and not more than the last ones: a
    /// client that reads as fast as they are written would else get all of a backlog.
    pub(super) fn stop(&mut self, log: &mut Log, session: &mut Session) -> Result<(), Failure> {
        let mut left = LAST;
        self.report_rest(log, session, |session| {
            left = left.saturating_sub(1);
            Ok(left > 0 && session.has_room())
        })
    }

    /// Report the remaining packets for as long as there is room.
    fn report_rest(
        &mut self,
        log: &mut Log,
        session: &mut Session,
        mut room: impl FnMut(&Session) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        while room(session)? && self.report_settled(log, session)? {}
        let count = log.entries.len();
        while log.settled.is_some() && (self.undecided as usize) < count && room(session)? {
            self.report_if_lost(log, session)?;
        }
        Ok(())
    }

    /// Report the next settled packet; return false if there is none.
    fn report_settled(&self, log: &mut Log, session: &mut Session) -> Result<bool, Failure> {
        let Some(place) = log.settled.as_mut().and_then(VecDeque::pop_front) else {
            return Ok(false);
        };
        session.event(&Event::Packet(self.packet(log, place)))?;
        Ok(true)
    }

    /// Report the next packet if it has no answer and was not settled.
    fn report_if_lost(&mut self, log: &Log, session: &mut Session) -> Result<(), Failure> {
        let place = self.undecided;
        self.undecided += 1;
        let silent = match log.outcome(place) {
            Outcome::Mismatched => true,
            Outcome::Lost | Outcome::UnderWay => log.error_at(place).is_none(),
            _ => false,
        };
        if silent { session.event(&Event::Packet(self.packet(log, place))) } else { Ok(()) }
    }

    fn packet<'a>(&'a self, log: &'a Log, place: u32) -> LivePacket<'a> {
        let entry = &log.entries[place as usize];
        let between = |from: Monotonic, to: Monotonic| {
            (from != NEVER && to != NEVER).then(|| (to - from).ns())
        };
        let exchange = log.exchanges.get(place as usize);
        LivePacket {
            seq: log.seq(place),
            sent_ns: (entry.requested() != NEVER)
                .then(|| test_clock::shown(log.clock_steps.clock_at(entry.requested()).ns())),
            handshake_ns: entry.handshake().map(Span::ns),
            port: exchange.map(|known| known.port).filter(|port| *port != 0),
            tls_ns: exchange.and_then(|known| known.tls).map(Span::ns),
            whole_ns: exchange.and_then(|known| known.whole).map(Span::ns),
            status: exchange.and_then(|known| known.status),
            bytes: exchange.filter(|_| entry.replied != NEVER).map(|known| known.bytes),
            rtt_app_ns: between(entry.requested(), entry.replied),
            rtt_stack_ns: log.stack_rtt(place).map(Span::ns),
            left_ns: log.stack_rtt(place).map(|_| test_clock::shown(entry.transmitted.ns())),
            slip_ns: between(entry.intended, entry.sent),
            outcome: log.outcome(place),
            from: match &self.only {
                Some(only) => (entry.replied != NEVER).then_some(only.into()),
                None => log.answered_by(place).map(|address| shown(address).into()),
            },
            ttl: (entry.ttl != 0).then_some(entry.ttl),
            error: log.error_at(place).map(Into::into),
            duplicates: entry.duplicates,
        }
    }
}

/// Return an address as text, with its zone if it is one of IPv6 that needs it (RFC 4007, section 11).
fn shown(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => {
            let zone = nix::net::if_::if_indextoname(v6.scope_id());
            let zone = zone
                .map_or_else(|_| v6.scope_id().to_string(), |name| name.to_string_lossy().into());
            format!("{}%{zone}", v6.ip())
        }
        _ => address.ip().to_string(),
    }
}
