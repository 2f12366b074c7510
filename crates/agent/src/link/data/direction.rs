//! One direction of a link: its pipe, its memory and its counters.

use delaylab_link::{Conditions, Delivery, Pipe, Reason, Sink};
use delaylab_wire::ETHERNET_HEADER;

use super::counts::{Counts, Snapshot};
use super::pool::{Account, Pool, Slot};
use super::schedule::{Event, Schedule};

/// One direction: the frames that the node behind one port sends.
pub(super) struct DirectionState {
    /// The direction's number.
    number: u32,
    /// The interface index of its port.
    pub interface: u32,
    /// The number of its link.
    pub switch: usize,
    /// The length of the longest frame without a VLAN tag.
    pub longest: usize,
    pipe: Pipe<Slot>,
    pub account: Account,
    pub counts: Counts,
    /// The number of frames refused before they entered, at the time when counting began.
    refused_before: u64,
    /// The time at which the pipe's queue is to be processed next.
    armed_ns: Option<i64>,
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
            interface,
            switch,
            longest,
            pipe,
            account,
            counts: Counts::default(),
            refused_before: 0,
            armed_ns: None,
        }
    }

    /// Take in a frame, given in these parts.
    pub(super) fn enter(
        &mut self,
        arrival_ns: i64,
        parts: &[&[u8]],
        pool: &mut Pool,
        schedule: &mut Schedule,
    ) {
        let Some(slot) = pool.take(&mut self.account, parts) else {
            self.counts.dropped.memory += 1;
            return;
        };
        let bytes = pool.frame(slot).len() as u32;
        let (pipe, mut outcome) = self.split(pool, schedule);
        pipe.offer(arrival_ns, bytes, slot, &mut outcome);
        self.arm(schedule);
    }

    /// Process the queue as scheduled for `due_ns`, unless that was rescheduled.
    pub(super) fn advance(
        &mut self,
        due_ns: i64,
        now_ns: i64,
        pool: &mut Pool,
        schedule: &mut Schedule,
    ) {
        if self.armed_ns != Some(due_ns) {
            return;
        }
        self.armed_ns = None;
        let (pipe, mut outcome) = self.split(pool, schedule);
        pipe.advance(now_ns, &mut outcome);
        self.arm(schedule);
    }

    pub(super) fn change(&mut self, conditions: Conditions, now_ns: i64, schedule: &mut Schedule) {
        self.pipe.change(conditions, now_ns);
        self.arm(schedule);
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
        pool: &'a mut Pool,
        schedule: &'a mut Schedule,
    ) -> (&'a mut Pipe<Slot>, Outcome<'a>) {
        let Self { pipe, number, account, counts, .. } = self;
        (pipe, Outcome { direction: *number, account, counts, pool, schedule })
    }

    fn arm(&mut self, schedule: &mut Schedule) {
        if let Some(next_ns) = self.pipe.next_ns()
            && self.armed_ns.is_none_or(|armed_ns| next_ns < armed_ns)
        {
            self.armed_ns = Some(next_ns);
            schedule.push(next_ns, Event::Advance { direction: self.number });
        }
    }
}

/// The sink of the pipe's decisions.
struct Outcome<'a> {
    direction: u32,
    account: &'a mut Account,
    counts: &'a mut Counts,
    pool: &'a mut Pool,
    schedule: &'a mut Schedule,
}

impl Sink<Slot> for Outcome<'_> {
    fn deliver(&mut self, delivery: Delivery<Slot>) {
        let Delivery { due_ns, frame: slot, copies, corrupt, reordered } = delivery;
        self.counts.duplicated += u64::from(copies > 1);
        self.counts.reordered += u64::from(reordered);
        if let Some(random) = corrupt {
            self.counts.corrupted += u64::from(turn_a_bit(self.pool.frame_mut(slot), random));
        }
        self.schedule.push(due_ns, Event::Send { slot, direction: self.direction, copies });
    }

    fn drop(&mut self, slot: Slot, why: Reason) {
        let dropped = &mut self.counts.dropped;
        match why {
            Reason::Loss => dropped.loss += 1,
            Reason::Queue => dropped.queue += 1,
            Reason::Early => dropped.early += 1,
        }
        self.pool.give(self.account, slot);
    }
}

/// Flip one bit behind the Ethernet header; return false if there is none.
fn turn_a_bit(frame: &mut [u8], random: u64) -> bool {
    let Some(payload @ [_, ..]) = frame.get_mut(ETHERNET_HEADER..) else { return false };
    let bit = random % (payload.len() as u64 * 8);
    payload[(bit / 8) as usize] ^= 1 << (bit % 8);
    true
}
