//! The rows of a probe's tables, as far as the client has not got them.

use std::ops::Range;

use delaylab_os::clock::{Monotonic, Span};
use delaylab_wire::Leg;

use super::entry::{Entry, NEVER, ROW};
use super::log::Log;
use crate::operations::tables::{ExchangeRow, Packet, Stamp};

impl Log {
    /// Return true if it is known what became of a packet; one without an answer is taken for lost after
    /// `late`.
    pub(super) fn is_known(&self, place: u32, now: Monotonic) -> bool {
        let entry = &self.entries[place as usize];
        let waited = entry.sent != NEVER && now - entry.sent > self.late;
        let failed = entry.error != 0 && !entry.mismatched;
        entry.replied != NEVER || entry.refused || failed || waited
    }

    /// Return all places.
    pub(super) fn places(&self) -> Range<u32> {
        0..self.entries.len() as u32
    }

    fn entries_at(&self, places: Range<u32>) -> impl Iterator<Item = (u32, &Entry)> {
        places.clone().zip(&self.entries[places.start as usize..places.end as usize])
    }

    /// Record that the client has the stamps of packets, as far as they were taken.
    pub(super) fn note_given_stamps(&mut self, places: Range<u32>) {
        for place in places {
            let given = self.times(&self.entries[place as usize]);
            let bits = (0..).zip(given).map(|(bit, (_, _, time))| u8::from(time != 0) << bit);
            self.entries[place as usize].given |= bits.sum::<u8>();
        }
    }

    /// Record that the client has the rows of packets as they are now.
    pub(super) fn note_given_rows(&mut self, places: Range<u32>) {
        for entry in &mut self.entries[places.start as usize..places.end as usize] {
            entry.given |= ROW;
        }
    }

    /// Return the rows of the table `packets` at some places that the client has not.
    pub(super) fn packets(&self, places: Range<u32>) -> impl Iterator<Item = Packet<'_>> {
        let new = self.entries_at(places).filter(|(_, entry)| entry.given & ROW == 0);
        new.map(|(place, entry)| Packet {
            probe: self.probe,
            seq: self.seq(place),
            intended_ns: self.clock_steps.clock_with(entry.intended, entry.sent).ns(),
            sent_ns: (entry.sent != NEVER).then(|| self.clock_steps.clock_at(entry.sent).ns()),
            outcome: self.outcome(place),
            duplicates: entry.duplicates,
            reordered: entry.reordered,
            error: self.error_of(entry),
        })
    }

    /// Return the rows of the table `exchanges`: of the packets that were sent to a service.
    pub(super) fn exchanges(&self, places: Range<u32>) -> impl Iterator<Item = ExchangeRow> {
        let entries = places.clone().zip(&self.entries).zip(&self.exchanges);
        entries.filter(|((_, entry), _)| entry.sent != NEVER).map(|((place, entry), known)| {
            ExchangeRow {
                probe: self.probe,
                seq: self.seq(place),
                port: known.port,
                asked: known.asked,
                first: known.first,
                last: known.last,
                handshake_ns: entry.handshake().map(Span::ns),
                tls_ns: known.tls.map(Span::ns),
                whole_ns: known.whole.map(Span::ns),
                status: known.status,
                bytes: known.bytes,
            }
        })
    }

    /// Return the times of a packet's stamps, in the order of its path; 0 for those that were not taken.
    fn times(&self, entry: &Entry) -> [(Leg, u32, i64); 5] {
        let own = |time: Monotonic| match time {
            NEVER => 0,
            _ if self.app => self.clock_steps.clock_at(time).ns(),
            _ => 0,
        };
        [
            (Leg::Request, 0, own(entry.requested())),
            (Leg::Request, 1, entry.qdisc.ns()),
            (Leg::Request, 2, entry.transmitted.ns()),
            (Leg::Reply, 2, entry.received.ns()),
            (Leg::Reply, 0, own(entry.replied)),
        ]
    }

    /// Return the rows of the table `stamps` at some places that the client has not, in the order of each packet's
    /// path.
    pub(super) fn stamps(&self, places: Range<u32>) -> impl Iterator<Item = Stamp> {
        self.entries_at(places).flat_map(move |(place, entry)| {
            let (probe, seq, given) = (self.probe, self.seq(place), entry.given);
            let times = (0..).zip(self.times(entry));
            let new = times.filter(move |(bit, (_, _, time))| *time != 0 && given >> bit & 1 == 0);
            new.map(move |(_, (leg, point, time_ns))| Stamp { probe, seq, leg, point, time_ns })
        })
    }
}
