//! One direction of a link: its pipe, its memory and its counters.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use delaylab_link::{Conditions, Delivery, LinkState, Pipe, Reason, Sink};
use delaylab_os::clock::{Monotonic, Realtime};
use delaylab_wire::ETHERNET_HEADER;

use super::passages::{Passages, QueueFound, Waiters};
use super::pool::{Account, Pool, Slot};
use crate::protocol::links::{Dropped, Tally};
use crate::protocol::passages::Fate;
use crate::timing::lateness::Lateness;

/// The frames under way: their memory, what is scheduled for them, and the passages of probes' packets.
pub(super) struct UnderWay {
    pub pool: Pool,
    pub events: EventQueue,
    pub passages: Passages,
}

/// One direction: the frames that the node behind one port sends, or those that it receives.
pub(super) struct DirectionState {
    /// The direction's number.
    number: u32,
    /// The number of the only port that its frames leave by, if it is what the node there receives.
    pub receives_by: Option<u32>,
    /// The interface index of its port.
    pub interface: u32,
    /// The number of its link.
    pub switch: usize,
    /// The length of the longest frame without a VLAN tag.
    pub longest: usize,
    /// True if its port sends nothing: the end of the link there is down.
    pub is_down: bool,
    pipe: Pipe<Slot>,
    pub account: Account,
    pub counts: Counts,
    waiters: Waiters,
    /// The number of frames refused before they entered, at the time when counting began.
    refused_before: u64,
    /// The time at which the pipe's queue is to be processed next.
    armed: Option<Monotonic>,
    /// The time at which the last frame was handed over by another direction.
    handed: Monotonic,
}

impl DirectionState {
    pub(super) fn new(
        number: u32,
        interface: u32,
        switch: usize,
        longest: usize,
        pipe: Pipe<Slot>,
        account: Account,
    ) -> Self {
        Self {
            number,
            receives_by: None,
            interface,
            switch,
            longest,
            is_down: false,
            pipe,
            account,
            counts: Counts::default(),
            waiters: Waiters::default(),
            refused_before: 0,
            armed: None,
            handed: Monotonic::from_ns(i64::MIN),
        }
    }

    /// Take in a frame, given in these parts.
    pub(super) fn enter(&mut self, arrival: Monotonic, parts: &[&[u8]], under_way: &mut UnderWay) {
        let Some(slot) = under_way.pool.take(&mut self.account, parts) else {
            self.counts.dropped.memory += 1;
            return;
        };
        self.offer(arrival, slot, under_way);
    }

    /// Take over a copy of a frame that another direction delivers at `due`, the time that it was to do so: its
    /// lateness does not add up.
    pub(super) fn take_over(
        &mut self,
        due: Monotonic,
        at: Realtime,
        slot: Slot,
        under_way: &mut UnderWay,
    ) {
        self.counts.entered.add(under_way.pool.frame(slot).len(), at);
        let Some(slot) = under_way.pool.copy(&mut self.account, slot) else {
            self.counts.dropped.memory += 1;
            return;
        };
        // A frame that came late from one sender does not arrive before what others have already delivered.
        self.handed = self.handed.max(due);
        self.offer(self.handed, slot, under_way);
    }

    fn offer(&mut self, arrival: Monotonic, slot: Slot, under_way: &mut UnderWay) {
        let frame = under_way.pool.frame(slot);
        let (waiting, most) = (self.pipe.waiting(), self.waiters.most());
        let queue = || QueueFound {
            frames: waiting.0 as u64,
            bytes: waiting.1,
            most: most.filter(|_| waiting.0 > 0),
        };
        under_way.passages.enter(slot, frame, self.number, arrival, queue);
        if !self.pipe.passes_at_once() {
            self.waiters.add(frame);
        }
        let bytes = frame.len() as u32;
        let (pipe, mut outcome) = self.split(under_way, arrival);
        pipe.offer(arrival.ns(), bytes, slot, &mut outcome);
        self.arm(&mut under_way.events);
    }

    /// Process the queue as scheduled for `due_ns`, unless that was rescheduled.
    pub(super) fn advance(&mut self, due: Monotonic, now: Monotonic, under_way: &mut UnderWay) {
        if self.armed != Some(due) {
            return;
        }
        self.armed = None;
        let (pipe, mut outcome) = self.split(under_way, now);
        pipe.advance(now.ns(), &mut outcome);
        self.arm(&mut under_way.events);
    }

    pub(super) fn change(
        &mut self,
        conditions: Conditions,
        now: Monotonic,
        events: &mut EventQueue,
    ) {
        self.is_down = conditions.state == LinkState::Down;
        self.pipe.change(conditions, now.ns());
        self.arm(events);
    }

    /// Return the counters; `refused` is the number of frames kept out of the ring so far.
    pub(super) fn snapshot(&self, refused: u64) -> Snapshot {
        let (waiting, held) = (self.pipe.waiting(), self.account.used());
        let mut counts = self.counts.clone();
        counts.dropped.ring = refused - self.refused_before;
        Snapshot { counts, waiting, held }
    }

    /// Reset the counters; `refused` is as for [`Self::snapshot`].
    pub(super) fn reset(&mut self, refused: u64) {
        self.counts = Counts::default();
        self.refused_before = refused;
    }

    fn split<'a>(
        &'a mut self,
        under_way: &'a mut UnderWay,
        now: Monotonic,
    ) -> (&'a mut Pipe<Slot>, Outcome<'a>) {
        let Self { pipe, number, account, counts, waiters, .. } = self;
        (pipe, Outcome { direction: *number, account, counts, waiters, under_way, now })
    }

    fn arm(&mut self, events: &mut EventQueue) {
        if let Some(next) = self.pipe.next_ns().map(Monotonic::from_ns)
            && self.armed.is_none_or(|armed| next < armed)
        {
            self.armed = Some(next);
            events.push(next, Event::Advance { direction: self.number });
        }
    }
}

/// The sink of the pipe's decisions.
struct Outcome<'a> {
    direction: u32,
    account: &'a mut Account,
    counts: &'a mut Counts,
    waiters: &'a mut Waiters,
    under_way: &'a mut UnderWay,
    now: Monotonic,
}

impl Sink<Slot> for Outcome<'_> {
    fn deliver(&mut self, delivery: Delivery<Slot>) {
        let Delivery { due_ns, frame: slot, copies, corrupt, reordered, short, .. } = delivery;
        let UnderWay { pool, events, passages } = &mut *self.under_way;
        self.waiters.remove(pool.frame(slot));
        let [began, left, due] =
            [delivery.began_ns, delivery.left_ns, due_ns].map(Monotonic::from_ns);
        passages.schedule(slot, began, left, due);
        self.counts.duplicated += u64::from(copies > 1);
        self.counts.reordered += u64::from(reordered);
        self.counts.short += u64::from(short);
        if let Some(random) = corrupt {
            self.counts.corrupted += u64::from(turn_a_bit(pool.frame_mut(slot), random));
        }
        events.push(due, Event::Send { slot, direction: self.direction, copies });
    }

    fn drop(&mut self, slot: Slot, why: Reason) {
        let dropped = &mut self.counts.dropped;
        let (count, fate) = match why {
            Reason::Loss => (&mut dropped.loss, Fate::Loss),
            Reason::Queue => (&mut dropped.queue, Fate::Queue),
            Reason::Early => (&mut dropped.early, Fate::Early),
            Reason::Down => (&mut dropped.down, Fate::Down),
        };
        *count += 1;
        let UnderWay { pool, passages, .. } = &mut *self.under_way;
        self.waiters.remove(pool.frame(slot));
        passages.end(slot, fate, self.now);
        pool.give(self.account, slot);
    }
}

/// Flip one bit behind the Ethernet header; return false if there is none.
fn turn_a_bit(frame: &mut [u8], random: u64) -> bool {
    let Some(payload @ [_, ..]) = frame.get_mut(ETHERNET_HEADER..) else { return false };
    let bit = random % (payload.len() as u64 * 8);
    payload[(bit / 8) as usize] ^= 1 << (bit % 8);
    true
}

/// All counters of one direction.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    pub entered: Tally,
    pub left: Tally,
    pub dropped: Dropped,
    pub duplicated: u64,
    pub corrupted: u64,
    pub reordered: u64,
    /// Frames whose delay was shorter than that of the network beyond the link.
    pub short: u64,
    pub moved: u64,
    pub late: Lateness,
}

/// The counters at one moment, and the number of frames and bytes under way.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    pub counts: Counts,
    /// Frames and bytes that wait for the rate.
    pub waiting: (usize, u64),
    /// Frames that wait for the rate or are under way.
    pub held: u32,
}

impl Tally {
    /// Build a tally from counters that have no times.
    pub(crate) fn of(frames: u64, bytes: u64) -> Self {
        Self { frames, bytes, ..Self::default() }
    }

    pub(crate) fn add(&mut self, bytes: usize, at: Realtime) {
        self.frames += 1;
        self.bytes += bytes as u64;
        self.first_ns.get_or_insert(at.ns());
        self.last_ns = Some(at.ns());
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// Send this number of copies of a direction's frame.
    Send { slot: Slot, direction: u32, copies: u8 },
    /// Process a direction's queue.
    Advance { direction: u32 },
}

/// All scheduled events in order of time; events at the same time keep the order in which they were added.
#[derive(Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Reverse<(Monotonic, u64, Event)>>,
    serial: u64,
}

impl EventQueue {
    pub(super) fn push(&mut self, due: Monotonic, event: Event) {
        self.serial += 1;
        self.heap.push(Reverse((due, self.serial, event)));
    }

    /// Return the time of the next event.
    pub(super) fn next(&self) -> Option<Monotonic> {
        self.heap.peek().map(|Reverse((due, ..))| *due)
    }

    /// Return the frame to be sent next, if the next event is to send one.
    pub(super) fn next_frame(&self) -> Option<Slot> {
        match self.heap.peek() {
            Some(&Reverse((.., Event::Send { slot, .. }))) => Some(slot),
            _ => None,
        }
    }

    /// Return the next event, with its time.
    pub(super) fn peek(&self) -> Option<(Monotonic, Event)> {
        self.heap.peek().map(|Reverse((due, _, event))| (*due, *event))
    }

    /// Remove and return the next event that is due by now, with its time.
    pub(super) fn pop(&mut self, now: Monotonic) -> Option<(Monotonic, Event)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((due, _, event))| (due, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_at_one_time_keeps_its_order() {
        let mut events = EventQueue::default();
        for (at, direction) in [(7, 0), (5, 1), (7, 2), (6, 3), (5, 4)] {
            events.push(Monotonic::from_ns(at), Event::Advance { direction });
        }
        assert_eq!(events.next(), Some(Monotonic::from_ns(5)));
        let order: Vec<_> = std::iter::from_fn(|| events.pop(Monotonic::from_ns(6))).collect();
        let expected = [(5, 1), (5, 4), (6, 3)];
        assert_eq!(
            order,
            expected.map(|(at, direction)| (Monotonic::from_ns(at), Event::Advance { direction }))
        );
        assert_eq!(events.next(), Some(Monotonic::from_ns(7)));
    }
}
