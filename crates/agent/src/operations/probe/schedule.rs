//! The times at which packets are due: at an interval, or as replies come.

use super::log::Log;
use crate::protocol::measuring::Probe;
use delaylab_os::clock::{Monotonic, Span};

/// The time to wait for replies once every packet has one: 2 ms, for duplicates.
const GRACE: Span = Span::from_ns(2_000_000);
/// The time until packets that the kernel held back are offered again, if no reply comes before: 20 ms.
const HELD_BACK: Span = Span::from_ns(20_000_000);

/// The schedule of a probe and its progress. With an interval it is an open loop. Without one it is a closed loop:
/// at most `batch` packets are awaited at a time.
#[derive(Debug)]
pub(super) struct Schedule {
    start: Monotonic,
    interval: Span,
    /// The time after the last sending at which a closed loop gives its packets up.
    timeout: Span,
    /// The time to wait for a first reply, and whether a reply makes that twice the largest RTT.
    linger: Span,
    by_rtt: bool,
    count: u32,
    batch: u32,
    /// True if two packets at a time are due, each two intervals.
    pairs: bool,
    /// The place of the next packet to send.
    pub next: u32,
    last_sent: Monotonic,
    last_event: Monotonic,
    gave_up: Monotonic,
    /// True if the kernel did not take the packets last offered.
    held_back: bool,
}

impl Schedule {
    pub(super) fn new(request: &Probe, start: Monotonic) -> Self {
        Self {
            start,
            interval: Span::from_ns(request.interval_ns),
            timeout: Span::from_ns(request.timeout_ns),
            linger: Span::from_ns(request.linger_ns),
            by_rtt: request.linger_rtt,
            count: request.count,
            batch: u32::from(request.batch),
            pairs: request.pairs,
            next: 0,
            last_sent: start,
            last_event: start,
            gave_up: start,
            held_back: false,
        }
    }

    pub(super) fn is_closed_loop(&self) -> bool {
        self.interval == Span::ZERO
    }

    /// Return the place after the last packet to send now.
    pub(super) fn due(&self, now: Monotonic, log: &Log) -> u32 {
        if now < self.start {
            return self.next;
        }
        let due = if self.is_closed_loop() {
            self.next.saturating_add(self.batch.saturating_sub(log.awaited()))
        } else {
            let passed = u32::try_from((now - self.start).ns() / self.interval.ns());
            let last = passed.unwrap_or(u32::MAX - 1);
            if self.pairs { last / 2 * 2 + 2 } else { last + 1 }
        };
        due.min(self.count).min(self.next.saturating_add(self.batch))
    }

    /// Return true if a closed loop may send now.
    pub(super) fn has_room(&self, now: Monotonic, log: &Log) -> bool {
        self.is_closed_loop() && !self.held_back && self.due(now, log) > self.next
    }

    /// Return the time at which a closed loop had room for the packets that it sends now: that of the last reply,
    /// or that at which packets were given up. It is `now` if an error made the room.
    pub(super) fn had_room(&self, now: Monotonic, log: &Log) -> Monotonic {
        let room = log.last_reply.max(self.gave_up);
        if self.next > 0 && room <= self.last_sent { now } else { room }
    }

    /// Record that packets up to a place were offered at `now`, of which the kernel took those before `taken`.
    pub(super) fn note_sent(&mut self, log: &Log, now: Monotonic, due: u32, taken: u32) {
        self.held_back = taken < due;
        let last = log.entries[self.next as usize..taken as usize].last();
        self.last_sent = last.map_or(now, |entry| entry.sent.max(now));
        self.next = taken;
        self.last_event = now;
    }

    pub(super) fn note_reply(&mut self, now: Monotonic) {
        self.last_event = now;
    }

    /// Give the packets of a closed loop up that nobody has answered in time.
    pub(super) fn give_up_late(&mut self, log: &mut Log, now: Monotonic) {
        if self.times_out_at(log).is_some_and(|time| now >= time) {
            self.gave_up = self.last_sent + self.timeout(log);
            log.give_up(self.next);
        }
    }

    fn times_out_at(&self, log: &Log) -> Option<Monotonic> {
        let waits = self.is_closed_loop() && self.next < self.count && log.awaited() > 0;
        waits.then(|| self.last_sent + self.timeout(log))
    }

    /// Return how long after the last sending a closed loop gives its packets up.
    fn timeout(&self, log: &Log) -> Span {
        if self.by_rtt { self.patience(log).max(self.timeout) } else { self.timeout }
    }

    /// Return how long a packet may take to be answered, as far as the probe knows.
    pub(super) fn patience(&self, log: &Log) -> Span {
        if self.by_rtt && log.replied > 0 { log.largest_rtt * 2 } else { self.linger }
    }

    /// Return the time at which the next packet is due unless a reply comes before; `None` if there is no such time.
    pub(super) fn next_due(&self, log: &Log) -> Option<Monotonic> {
        if self.is_closed_loop() {
            return self.times_out_at(log);
        }
        (self.next < self.count).then(|| log.entries[self.next as usize].intended)
    }

    /// Return the latest time of the next wake-up; `end` is the time at which the probe is over, if that is known.
    pub(super) fn wake_at(&self, log: &Log, end: Option<Monotonic>, now: Monotonic) -> Monotonic {
        if let Some(end) = end {
            return end;
        }
        if self.held_back {
            return now + HELD_BACK.min(self.next_due(log).map_or(HELD_BACK, |due| due - now));
        }
        if self.has_room(now, log) {
            return now;
        }
        self.next_due(log).unwrap_or(self.start.max(now))
    }

    /// Return the time at which the probe is over, once everything is sent.
    pub(super) fn end(&self, request: &Probe, log: &Log, now: Monotonic) -> Option<Monotonic> {
        if self.next < self.count {
            return None;
        }
        // If the kernel took no packet there is nothing to wait for.
        if log.sent == 0 {
            return Some(now);
        }
        let linger = if log.outstanding() == 0 {
            GRACE.min(Span::from_ns(request.linger_ns))
        } else if request.linger_rtt && log.replied > 0 {
            return Some(self.last_sent + self.patience(log).max(self.interval));
        } else {
            Span::from_ns(request.linger_ns)
        };
        Some(self.last_event + linger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TIMEOUT: i64 = 10_000_000;
    const NONE: [i64; 0] = [];

    fn at(ns: i64) -> Monotonic {
        Monotonic::from_ns(ns)
    }

    /// A closed loop in virtual time, whose packets have the fates that a test gives them.
    struct Loop {
        schedule: Schedule,
        log: Log,
    }

    impl Loop {
        fn new(batch: u16) -> Self {
            let request: Probe = serde_json::from_value(json!({
                "probe": 1, "protocol": "udp", "to": "10.0.0.1", "port": 9, "count": 100,
                "interval_ns": 0, "timeout_ns": TIMEOUT, "size": 56, "linger_ns": 0, "late_ns": 1_000_000_000,
                "stamps": ["app"], "batch": batch,
            }))
            .unwrap();
            let request = request.checked().unwrap();
            Self { schedule: Schedule::new(&request, at(1000)), log: Log::new(&request) }
        }

        /// Send what is due at `now` and return how many packets that were, each with its intended time.
        fn send(&mut self, now: i64) -> Vec<i64> {
            let now = at(now);
            self.schedule.give_up_late(&mut self.log, now);
            let (first, due) = (self.schedule.next, self.schedule.due(now, &self.log));
            let intended = self.schedule.had_room(now, &self.log);
            (first..due).for_each(|place| self.log.note_sent(place, now));
            if due > first {
                self.schedule.note_sent(&self.log, now, due, due);
            }
            (first..due).map(|_| intended.ns()).collect()
        }

        fn reply(&mut self, place: u32, now: i64) {
            self.log.note_reply(place, None, None, at(now));
        }

        fn wakes_at(&self, now: i64) -> i64 {
            self.schedule.wake_at(&self.log, None, at(now)).ns()
        }
    }

    #[test]
    fn one_packet_is_under_way_at_a_time() {
        let mut probe = Loop::new(1);
        assert_eq!(probe.send(999), NONE, "not before the start");
        assert_eq!(probe.send(1500), [1000]);
        assert_eq!(probe.send(1600), NONE);
        probe.reply(0, 1700);
        assert_eq!(probe.wakes_at(1750), 1750, "it is due at once");
        assert_eq!(probe.send(1800), [1700], "due since the reply");
        assert_eq!(probe.send(1900), NONE);
    }

    #[test]
    fn a_lost_packet_is_waited_for_until_the_timeout() {
        let mut probe = Loop::new(1);
        probe.send(1000);
        let end = 1000 + TIMEOUT;
        assert_eq!(probe.wakes_at(2000), end);
        assert_eq!(probe.send(end - 1), NONE);
        assert_eq!(probe.send(end + 5), [end]);
    }

    #[test]
    fn a_reply_after_the_timeout_makes_no_room_for_another_packet() {
        let mut probe = Loop::new(1);
        probe.send(1000);
        let later = 2000 + TIMEOUT;
        assert_eq!(probe.send(later).len(), 1);
        probe.reply(0, later + 10);
        assert_eq!(probe.send(later + 20), NONE, "packet 1 is still under way");
        probe.reply(1, later + 30);
        assert_eq!(probe.send(later + 40), [later + 30]);
    }

    #[test]
    fn an_error_makes_room_at_once() {
        let mut probe = Loop::new(1);
        probe.send(1000);
        probe.log.note_error(0, "unreachable");
        assert_eq!(probe.send(1100), [1100]);
        let later = 2000 + TIMEOUT;
        assert_eq!(probe.send(later).len(), 1);
        probe.log.note_error(1, "given up, and unreachable");
        assert_eq!(probe.send(later + 10), NONE, "packet 2 is still under way");
    }

    #[test]
    fn a_window_stays_full_while_some_of_it_are_given_up() {
        let mut probe = Loop::new(4);
        assert_eq!(probe.send(1000).len(), 4);
        probe.reply(2, 1100);
        assert_eq!(probe.send(1200).len(), 1);
        let later = 2000 + TIMEOUT;
        assert_eq!(probe.send(later).len(), 4, "all that was under way is given up");
        (0..2).for_each(|place| probe.reply(place, later + 10));
        assert_eq!(probe.send(later + 20).len(), 0);
    }

    #[test]
    fn a_probe_that_waits_by_the_round_trip_keeps_its_window_at_any_distance() {
        let mut probe = Loop::new(2);
        (probe.schedule.by_rtt, probe.schedule.linger) = (true, Span::from_ns(500 * TIMEOUT));
        assert_eq!(probe.send(1000).len(), 2);
        let first = 1000 + 400 * TIMEOUT;
        assert_eq!(
            probe.send(first - 1),
            NONE,
            "there is no reply yet, so it waits as long as asked"
        );
        probe.reply(0, first);
        assert_eq!(probe.send(first).len(), 1);
        assert_eq!(probe.send(first + 400 * TIMEOUT), NONE, "two are under way");
        assert_eq!(probe.send(first + 800 * TIMEOUT).len(), 2, "twice the round trip is over");
    }

    #[test]
    fn pairs_are_due_together_each_two_intervals() {
        let mut probe = Loop::new(8);
        (probe.schedule.interval, probe.schedule.pairs) = (Span::from_ns(100), true);
        for (now, due) in
            [(999, 0), (1000, 2), (1100, 2), (1199, 2), (1200, 4), (1399, 4), (1401, 6)]
        {
            assert_eq!(probe.schedule.due(at(now), &probe.log), due, "{now}");
        }
    }

    #[test]
    fn packets_held_back_are_offered_again_without_spinning() {
        let mut probe = Loop::new(1);
        probe.schedule.note_sent(&probe.log, at(2000), 1, 0);
        assert_eq!(probe.wakes_at(2000), 2000 + HELD_BACK.ns());
        assert_eq!(probe.send(3000).len(), 1);
    }
}
