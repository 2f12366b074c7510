//! The record of every scheduled packet. All memory is allocated before the first packet is sent.

use super::entry::{Entry, NEVER, NONE, ROW};
use super::exchange::Exchange;
use crate::protocol::measuring::{Outcome, Point, Probe};
use crate::timing::clock_steps::ClockSteps;
use delaylab_os::clock::{Monotonic, Realtime, Span};
use delaylab_os::socket::control_message::Step;
use delaylab_wire::ProbeRepr;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;

/// The points of a probe, in the order of a request's path.
pub(super) const POINTS: [&str; 3] = ["app", "qdisc", "stack"];

/// The packets of a probe by place, which is seq less the first seq.
#[derive(Debug)]
pub(super) struct Log {
    pub entries: Vec<Entry>,
    pub(super) probe: u32,
    first_seq: u32,
    /// The random key that gives each packet its nonce (SipHash): from some of them no other can be told.
    nonces: RandomState,
    pub(super) late: Span,
    pub(super) app: bool,
    errors: Vec<String>,
    addresses: Vec<SocketAddr>,
    /// The place after the last one that has a reply.
    next_expected: u32,
    /// Packets with a reply.
    pub replied: u32,
    /// Packets that the kernel took.
    pub sent: u32,
    /// Packets that the kernel refused.
    pub refused: u32,
    /// Answers that are not replies: from another address, or with other data.
    pub mismatched: u32,
    /// Packets without a reply that an error made hopeless.
    failed: u32,
    /// The packets before this place are given up: a closed loop awaits them no longer.
    given_up_before: u32,
    /// Packets that were given up and may still be answered.
    given_up: u32,
    /// The time at which the last reply reached user space.
    pub last_reply: Monotonic,
    /// The facts about each request to a service and its answer, by place; empty for other probes.
    pub exchanges: Vec<Exchange>,
    /// The largest RTT in user space so far.
    pub largest_rtt: Span,
    /// The places settled since the last live event; only for `live` probes.
    pub settled: Option<VecDeque<u32>>,
    /// Packets that were sent after this time and have no answer are under way: the client has stopped the probe
    /// before they could be lost.
    under_way_since: Option<Monotonic>,
    /// The changes of the clock since the probe began.
    pub clock_steps: ClockSteps,
}

impl Log {
    pub(super) fn new(request: &Probe) -> Self {
        let count = request.count as usize;
        Self {
            entries: vec![Entry::default(); count],
            probe: request.probe,
            first_seq: request.first_seq,
            nonces: RandomState::new(),
            late: Span::from_ns(request.late_ns),
            app: request.stamps.contains(&Point::App),
            errors: Vec::with_capacity(16),
            addresses: Vec::with_capacity(16),
            next_expected: 0,
            replied: 0,
            sent: 0,
            refused: 0,
            mismatched: 0,
            failed: 0,
            given_up_before: 0,
            given_up: 0,
            last_reply: NEVER,
            exchanges: if request.protocol.asks() {
                vec![Exchange::default(); count]
            } else {
                Vec::new()
            },
            largest_rtt: Span::ZERO,
            settled: request.live.then(|| VecDeque::with_capacity(count.min(1 << 16))),
            under_way_since: None,
            clock_steps: ClockSteps::default(),
        }
    }

    pub(super) fn seq(&self, place: u32) -> u32 {
        self.first_seq + place
    }

    /// Return the probe header of the packet at a place.
    pub(super) fn header(&self, place: u32) -> ProbeRepr {
        let seq = self.seq(place);
        ProbeRepr { probe: self.probe, seq, nonce: self.nonces.hash_one(seq) }
    }

    /// Return the place of a sent packet, if it is this probe's.
    pub(super) fn place(&self, probe: u32, seq: u32) -> Option<u32> {
        if probe == self.probe { self.place_of_seq(seq) } else { None }
    }

    /// Return the place of a sent packet that is known to be this probe's.
    pub(super) fn place_of_seq(&self, seq: u32) -> Option<u32> {
        let place = seq.checked_sub(self.first_seq)?;
        let entry = self.entries.get(place as usize)?;
        (entry.sent != NEVER).then_some(place)
    }

    /// Return the place of the last sent packet whose seq has these low 16 bits.
    pub(super) fn last_with_low_bits(&self, bits: u16) -> Option<u32> {
        let last = self.sent + self.refused;
        (0..last).rev().take(1 << 16).find(|place| self.seq(*place) as u16 == bits)
    }

    /// Record a packet that the kernel is about to take.
    pub(super) fn note_sent(&mut self, place: u32, sent: Monotonic) {
        self.entries[place as usize].sent = sent;
        self.sent += 1;
    }

    /// Record that the kernel did not take a packet yet; it will be offered again.
    pub(super) fn note_held_back(&mut self, place: u32) {
        self.entries[place as usize].sent = NEVER;
        self.sent -= 1;
    }

    /// Record that the kernel refused a packet after all.
    pub(super) fn note_refused(&mut self, place: u32, why: &str) {
        let error = self.error(why);
        let entry = &mut self.entries[place as usize];
        entry.sent = NEVER;
        entry.refused = true;
        entry.error = error;
        self.sent -= 1;
        self.refused += 1;
        self.settle(place);
    }

    /// Record a reply: `received` is the kernel's stamp, `now` the time in user space.
    pub(super) fn note_reply(
        &mut self,
        place: u32,
        received: Option<Realtime>,
        ttl: Option<u8>,
        now: Monotonic,
    ) {
        let entry = &mut self.entries[place as usize];
        if entry.replied != NEVER {
            entry.duplicates = entry.duplicates.saturating_add(1);
            self.settle(place);
            return;
        }
        let was_failed = entry.error != 0 && !entry.mismatched;
        (entry.error, entry.mismatched) = (0, false);
        if was_failed {
            // Such as that of an earlier reply, which was corrupted.
            self.failed -= 1;
        } else if place < self.given_up_before {
            self.given_up -= 1;
        }
        entry.replied = now;
        self.last_reply = now;
        self.largest_rtt = self.largest_rtt.max(now - entry.sent);
        entry.received = received.unwrap_or(entry.received);
        entry.ttl = ttl.unwrap_or(entry.ttl);
        entry.reordered = place < self.next_expected;
        self.next_expected = self.next_expected.max(place + 1);
        self.replied += 1;
        self.settle(place);
    }

    /// Record the first byte of a reply that may go on; [`Self::note_reply_ended`] follows.
    pub(super) fn note_reply_begun(&mut self, place: u32, now: Monotonic) {
        let settled = self.settled.take();
        self.note_reply(place, None, None, now);
        self.settled = settled;
    }

    /// Record that a reply is over, and what is wrong with it, if anything.
    pub(super) fn note_reply_ended(&mut self, place: u32, flaw: Option<&str>) {
        if let Some(flaw) = flaw {
            self.note_flaw(place, flaw);
        }
        self.settle(place);
    }

    /// Return true if a transmit stamp with this time can be the packet's first for this step.
    pub(super) fn awaits(&self, place: u32, step: Step, time: Realtime) -> bool {
        self.entries.get(place as usize).is_some_and(|entry| {
            let stamp = match step {
                Step::Qdisc => entry.qdisc,
                Step::Stack => entry.transmitted,
            };
            stamp == NONE && entry.sent != NEVER && self.clock_steps.clock_at(entry.sent) <= time
        })
    }

    /// Record the first transmit stamp of a packet for this step. A packet that is forwarded on this host
    /// gets another stamp at each hop under the same number; [`Self::awaits`] excludes those.
    pub(super) fn note_transmit(&mut self, place: u32, step: Step, time: Realtime) {
        let entry = &mut self.entries[place as usize];
        match step {
            Step::Qdisc => entry.qdisc = time,
            Step::Stack => entry.transmitted = time,
        }
    }

    /// Record the reason why a packet was lost.
    pub(super) fn note_error(&mut self, place: u32, why: &str) {
        let error = self.error(why);
        let entry = &mut self.entries[place as usize];
        if entry.error == 0 {
            entry.error = error;
            if entry.replied == NEVER {
                self.failed += 1;
                if place < self.given_up_before {
                    self.given_up -= 1;
                }
            }
            self.settle(place);
        }
    }

    /// Record an answer to a packet that is not its reply. That is awaited as before; if it does not come, this is the
    /// packet's outcome.
    pub(super) fn note_mismatched(&mut self, place: u32, why: &str, from: Option<SocketAddr>) {
        self.mismatched += 1;
        let entry = self.entries[place as usize];
        if entry.replied == NEVER && entry.error == 0 {
            self.note_source(place, from);
            let error = self.error(why);
            let entry = &mut self.entries[place as usize];
            (entry.error, entry.mismatched) = (error, true);
        }
    }

    /// Record that a reply to a packet was corrupted. If none comes that is intact, the packet is lost.
    pub(super) fn note_corrupted(&mut self, place: u32, why: &str) {
        if self.entries[place as usize].replied == NEVER {
            self.note_error(place, why);
        }
    }

    /// Record the source of a reply that is about to be recorded. The first one counts.
    pub(super) fn note_source(&mut self, place: u32, from: Option<SocketAddr>) {
        if let (Some(from), NEVER) = (from, self.entries[place as usize].replied) {
            self.entries[place as usize].answered_by = number(&mut self.addresses, from);
        }
    }

    /// Record that a packet's TTL was used up at a router, whose message is taken as the reply.
    pub(super) fn note_expired(
        &mut self,
        place: u32,
        at: SocketAddr,
        received: Option<Realtime>,
        now: Monotonic,
    ) {
        if self.entries[place as usize].replied == NEVER {
            self.note_source(place, Some(at));
            self.entries[place as usize].expired = true;
            self.note_reply(place, received, None, now);
        }
    }

    /// Record the first stamp of a reply, and its TTL, apart from the time in user space. A packet that was given
    /// up has no reply.
    pub(super) fn note_arrival(&mut self, place: u32, received: Realtime, ttl: u8) {
        let entry = &mut self.entries[place as usize];
        if entry.received == NONE && (entry.error == 0 || entry.replied != NEVER) {
            (entry.received, entry.ttl) = (received, ttl);
        }
    }

    /// Record when a connection was open, and when a request was sent on it.
    pub(super) fn note_asked(&mut self, place: u32, opened: Monotonic, asked: Monotonic) {
        let entry = &mut self.entries[place as usize];
        (entry.opened, entry.asked) = (opened, asked);
    }

    /// Record what is wrong with a reply that has come.
    fn note_flaw(&mut self, place: u32, what: &str) {
        let error = self.error(what);
        let entry = &mut self.entries[place as usize];
        entry.error = error;
        entry.given &= !ROW;
    }

    /// Record that a closed port has answered.
    pub(super) fn note_closed(&mut self, place: u32, now: Monotonic) {
        self.entries[place as usize].closed = true;
        self.note_reply(place, None, None, now);
    }

    fn settle(&mut self, place: u32) {
        self.entries[place as usize].given &= !ROW;
        if let Some(settled) = &mut self.settled {
            settled.push_back(place);
        }
    }

    fn error(&mut self, why: &str) -> u16 {
        number(&mut self.errors, why.to_owned())
    }

    /// Record that the client has stopped the probe. Packets that were sent after `since` may still be answered.
    pub(super) fn note_stop(&mut self, since: Monotonic) {
        self.under_way_since = Some(since);
        for entry in self.entries.iter_mut().filter(|entry| entry.replied == NEVER) {
            entry.given &= !ROW;
        }
    }

    /// Return true if the probe was stopped before a packet could be answered or given up.
    fn is_under_way(&self, entry: &Entry) -> bool {
        entry.error == 0 && self.under_way_since.is_some_and(|since| entry.requested() > since)
    }

    /// Return the number of packets that may still be answered.
    pub(super) fn outstanding(&self) -> u32 {
        self.sent - self.replied - self.failed
    }

    /// Give up all packets under way; they are those before a place.
    pub(super) fn give_up(&mut self, before: u32) {
        self.given_up = self.outstanding();
        self.given_up_before = before;
    }

    /// Return the number of packets that may still be answered and are not given up.
    pub(super) fn awaited(&self) -> u32 {
        self.outstanding() - self.given_up
    }

    pub(super) fn outcome(&self, place: u32) -> Outcome {
        let entry = &self.entries[place as usize];
        match entry {
            Entry { refused: true, .. } => Outcome::Refused,
            Entry { sent: NEVER, .. } => Outcome::Unsent,
            Entry { replied: NEVER, mismatched: true, .. } => Outcome::Mismatched,
            Entry { replied: NEVER, .. } if self.is_under_way(entry) => Outcome::UnderWay,
            Entry { replied: NEVER, .. } => Outcome::Lost,
            Entry { expired: true, .. } => Outcome::Expired,
            Entry { replied, .. } if *replied - entry.requested() > self.late => Outcome::Late,
            Entry { closed: true, .. } => Outcome::Closed,
            _ => Outcome::Replied,
        }
    }

    pub(super) fn error_of(&self, entry: &Entry) -> Option<&str> {
        let at = usize::from(entry.error).checked_sub(1)?;
        self.errors.get(at).map(String::as_str)
    }

    /// Return the address that has answered the packet at a place, if it is known.
    pub(super) fn answered_by(&self, place: u32) -> Option<SocketAddr> {
        let at = usize::from(self.entries[place as usize].answered_by).checked_sub(1)?;
        self.addresses.get(at).copied()
    }

    /// Return the error of the packet at a place, if any.
    pub(super) fn error_at(&self, place: u32) -> Option<&str> {
        self.error_of(&self.entries[place as usize])
    }

    /// Return the RTT between the kernel's stamps, if the packet has both and nobody set the clock between them.
    pub(super) fn stack_rtt(&self, place: u32) -> Option<Span> {
        let entry = &self.entries[place as usize];
        let stamped = entry.transmitted != NONE && entry.received != NONE;
        let by_one_clock = !self.clock_steps.any_between(entry.sent, entry.replied);
        (stamped && by_one_clock).then(|| entry.received - entry.transmitted)
    }
}

/// Return the number of a value in a list, from 1, and add it if it is new; there are few different ones. Return 0 if
/// the list is full.
fn number<T: PartialEq>(known: &mut Vec<T>, value: T) -> u16 {
    let at = known.iter().position(|each| *each == value).unwrap_or(known.len());
    let Ok(number) = u16::try_from(at + 1) else { return 0 };
    if at == known.len() {
        known.push(value);
    }
    number
}
