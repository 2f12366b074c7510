//! The record of a reflector's packets: bounded by what the probe sends, whatever comes.

use std::collections::VecDeque;

use delaylab_os::clock::Realtime;
use delaylab_os::socket::control_message::Step;
use delaylab_wire::{Leg, ProbeRepr};

use super::seen::Seen;
use super::tables::Stamp;

/// The points of a reflector.
pub(super) const POINTS: [&str; 3] = ["app", "qdisc", "stack"];
/// The last replies whose transmit stamps may still come.
const RECENT: usize = 1 << 16;
/// The most packets that are kept of a probe that sends any number.
const MOST: u32 = 1 << 20;

/// The times of one packet in ns since the Unix epoch; 0 if there is none.
#[derive(Clone, Copy, Debug)]
struct Entry {
    probe: u32,
    seq: u32,
    /// True for the first one of a packet that the probe sends.
    kept: bool,
    received: i64,
    read: i64,
    sent: i64,
    qdisc: i64,
    transmitted: i64,
}

/// The reflected packets in the order of their replies, each once.
#[derive(Debug)]
pub(super) struct ReplyLog {
    /// The probe whose packets are kept; 0 for all.
    probe: u32,
    /// The number of packets that it sends; 0 for any.
    packets: u32,
    seen: Seen,
    /// The packets that are kept, and whose stamps have all come.
    whole: Vec<Entry>,
    /// The last packets, also those that are not kept: the kernel numbers the stamps of all.
    recent: VecDeque<Entry>,
    /// The place of the first of them; places wrap around.
    first: u32,
    kept: u32,
    /// Packets with the probe's number and a sequence number that the probe does not use.
    pub unsent: u64,
}

impl ReplyLog {
    pub(super) fn new(probe: u32, packets: u32) -> Self {
        Self {
            probe,
            packets,
            seen: Seen::default(),
            whole: Vec::with_capacity(packets.min(RECENT as u32) as usize),
            recent: VecDeque::with_capacity(RECENT + 1),
            first: 0,
            kept: 0,
            unsent: 0,
        }
    }

    /// Return the place of the next packet.
    pub(super) fn end(&self) -> u32 {
        self.first.wrapping_add(self.recent.len() as u32)
    }

    /// Record a request: `received` is the kernel's stamp, `read` the time in user space.
    pub(super) fn note_request(&mut self, probe: ProbeRepr, received: Option<Realtime>, read: i64) {
        let kept = self.keeps(&probe);
        let (probe, seq, received) = (probe.probe, probe.seq, received.map_or(0, Realtime::ns));
        if self.recent.len() == RECENT {
            self.whole.extend(self.recent.pop_front().filter(|entry| entry.kept));
            self.first = self.first.wrapping_add(1);
        }
        let (sent, qdisc, transmitted) = (0, 0, 0);
        self.recent.push_back(Entry { probe, seq, kept, received, read, sent, qdisc, transmitted });
    }

    /// Return true for the first one of a packet that the probe sends.
    fn keeps(&mut self, packet: &ProbeRepr) -> bool {
        if self.probe != 0 && packet.probe != self.probe {
            return false;
        }
        let most = if self.packets == 0 { MOST } else { self.packets };
        if self.packets != 0 && packet.seq >= self.packets {
            self.unsent += 1;
            return false;
        }
        let kept = self.kept < most && self.seen.insert(packet.probe, Leg::Request, packet.seq);
        self.kept += u32::from(kept);
        kept
    }

    /// Record that the replies from `first` on are about to be sent.
    pub(super) fn note_replies(&mut self, first: u32, now: i64) {
        let from = first.wrapping_sub(self.first) as usize;
        for entry in self.recent.range_mut(from..) {
            entry.sent = now;
        }
    }

    /// Record that the kernel refused a reply after all.
    pub(super) fn note_refused(&mut self, place: u32) {
        if let Some(entry) = self.at(place) {
            entry.sent = 0;
        }
    }

    /// Return true if a transmit stamp with this time can be the packet's first for this step.
    pub(super) fn awaits(&self, place: u32, step: Step, time: Realtime) -> bool {
        let entry = self.recent.get(place.wrapping_sub(self.first) as usize);
        entry.is_some_and(|entry| {
            let stamp = match step {
                Step::Qdisc => entry.qdisc,
                Step::Stack => entry.transmitted,
            };
            stamp == 0 && entry.sent != 0 && entry.sent <= time.ns()
        })
    }

    /// Record the first transmit stamp of a reply for this step.
    pub(super) fn note_transmit(&mut self, place: u32, step: Step, time: Realtime) {
        if let Some(entry) = self.at(place) {
            match step {
                Step::Qdisc => entry.qdisc = time.ns(),
                Step::Stack => entry.transmitted = time.ns(),
            }
        }
    }

    fn at(&mut self, place: u32) -> Option<&mut Entry> {
        self.recent.get_mut(place.wrapping_sub(self.first) as usize)
    }

    /// Return the rows of the table `stamps`.
    pub(super) fn stamps(&self) -> impl Iterator<Item = Stamp> {
        let kept = self.whole.iter().chain(self.recent.iter().filter(|entry| entry.kept));
        kept.flat_map(|entry| {
            let times = [
                (Leg::Request, 2, entry.received),
                (Leg::Request, 0, entry.read),
                (Leg::Reply, 0, entry.sent),
                (Leg::Reply, 1, entry.qdisc),
                (Leg::Reply, 2, entry.transmitted),
            ];
            let (probe, seq) = (entry.probe, entry.seq);
            let taken = times.into_iter().filter(|(_, _, time)| *time != 0);
            taken.map(move |(leg, point, time_ns)| Stamp { probe, seq, leg, point, time_ns })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(probe: u32, seq: u32) -> ProbeRepr {
        ProbeRepr { probe, seq, nonce: 0 }
    }

    /// Record a packet at a time, and its reply just after it.
    fn note(log: &mut ReplyLog, probe: u32, seq: u32, time: i64) {
        let first = log.end();
        log.note_request(packet(probe, seq), Some(Realtime::from_ns(time)), time + 1);
        log.note_replies(first, time + 2);
    }

    fn rows(log: &ReplyLog) -> Vec<(u32, u32, i64)> {
        log.stamps().map(|stamp| (stamp.seq, stamp.point, stamp.time_ns)).collect()
    }

    #[test]
    fn a_packet_that_comes_again_keeps_its_first_stamps() {
        let mut log = ReplyLog::new(7, 2);
        note(&mut log, 7, 1, 10);
        note(&mut log, 7, 1, 20);
        log.note_transmit(1, Step::Stack, Realtime::from_ns(23));
        log.note_transmit(0, Step::Stack, Realtime::from_ns(13));
        assert_eq!(rows(&log), [(1, 2, 10), (1, 0, 11), (1, 0, 12), (1, 2, 13)]);
        assert_eq!(log.unsent, 0);
    }

    #[test]
    fn packets_that_the_probe_does_not_send_are_counted() {
        let mut log = ReplyLog::new(7, 2);
        for (probe, seq) in [(7, 2), (8, 0), (7, u32::MAX), (9, 9)] {
            note(&mut log, probe, seq, 10);
        }
        assert!(rows(&log).is_empty());
        assert_eq!(log.unsent, 2);
    }

    #[test]
    fn a_flood_takes_bounded_memory_and_no_stamps() {
        let mut log = ReplyLog::new(7, 3);
        note(&mut log, 7, 0, 10);
        for seq in 0..3 * RECENT as u32 {
            note(&mut log, 7, seq, 100);
        }
        assert_eq!(log.recent.len(), RECENT);
        assert_eq!(log.whole.len(), 3);
        assert_eq!(rows(&log)[..2], [(0, 2, 10), (0, 0, 11)]);
        let places = log.end().wrapping_sub(1)..=log.end();
        let time = Realtime::from_ns(200);
        let awaited: Vec<_> = places.map(|place| log.awaits(place, Step::Stack, time)).collect();
        assert_eq!(awaited, [true, false]);
        assert!(!log.awaits(0, Step::Stack, time), "its stamp would have come long ago");
    }

    #[test]
    fn a_probe_of_any_number_of_packets_has_a_limit() {
        let mut log = ReplyLog::new(0, 0);
        for seq in 0..MOST + 10 {
            log.note_request(packet(1, seq), None, 1);
        }
        assert_eq!(log.stamps().count(), MOST as usize);
    }
}
