//! The schedule of an engine's events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pool::Slot;

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
pub(super) struct Schedule {
    heap: BinaryHeap<Reverse<(i64, u64, Event)>>,
    serial: u64,
}

impl Schedule {
    pub(super) fn push(&mut self, due_ns: i64, event: Event) {
        self.serial += 1;
        self.heap.push(Reverse((due_ns, self.serial, event)));
    }

    /// Return the time of the next event.
    pub(super) fn next_ns(&self) -> Option<i64> {
        self.heap.peek().map(|Reverse((due_ns, ..))| *due_ns)
    }

    /// Return the frame to be sent next, if the next event is to send one.
    pub(super) fn next_frame(&self) -> Option<Slot> {
        match self.heap.peek() {
            Some(&Reverse((.., Event::Send { slot, .. }))) => Some(slot),
            _ => None,
        }
    }

    /// Remove and return the next event that is due by now, with its time.
    pub(super) fn pop(&mut self, now_ns: i64) -> Option<(i64, Event)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((due_ns, _, event))| (due_ns, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_at_one_time_keeps_its_order() {
        let mut schedule = Schedule::default();
        for (at, direction) in [(7, 0), (5, 1), (7, 2), (6, 3), (5, 4)] {
            schedule.push(at, Event::Advance { direction });
        }
        assert_eq!(schedule.next_ns(), Some(5));
        let order: Vec<_> = std::iter::from_fn(|| schedule.pop(6)).collect();
        let expected = [(5, 1), (5, 4), (6, 3)];
        assert_eq!(order, expected.map(|(at, direction)| (at, Event::Advance { direction })));
        assert_eq!(schedule.next_ns(), Some(7));
    }
}
