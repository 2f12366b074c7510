//! What is to be done at which time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pool::Slot;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A frame of a direction is to be sent, so many times.
    Send { slot: Slot, direction: u32, copies: u8 },
    /// A direction's queue has something to do.
    Advance { direction: u32 },
}

/// All that is to be done, by its time; what was said first comes first.
#[derive(Default)]
pub struct Due {
    heap: BinaryHeap<Reverse<(i64, u64, What)>>,
    serial: u64,
}

impl Due {
    pub fn push(&mut self, due_ns: i64, what: What) {
        self.serial += 1;
        self.heap.push(Reverse((due_ns, self.serial, what)));
    }

    /// The next time at which something is due.
    pub fn next_ns(&self) -> Option<i64> {
        self.heap.peek().map(|Reverse((due_ns, ..))| *due_ns)
    }

    /// The next frame that is to be sent, if that is the next thing to do.
    pub fn next_frame(&self) -> Option<Slot> {
        match self.heap.peek() {
            Some(&Reverse((.., What::Send { slot, .. }))) => Some(slot),
            _ => None,
        }
    }

    /// What is due by now, with the time at which it was.
    pub fn pop(&mut self, now_ns: i64) -> Option<(i64, What)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((due_ns, _, what))| (due_ns, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_at_one_time_keeps_its_order() {
        let mut due = Due::default();
        for (at, direction) in [(7, 0), (5, 1), (7, 2), (6, 3), (5, 4)] {
            due.push(at, What::Advance { direction });
        }
        assert_eq!(due.next_ns(), Some(5));
        let order: Vec<_> = std::iter::from_fn(|| due.pop(6)).collect();
        let expected = [(5, 1), (5, 4), (6, 3)];
        assert_eq!(order, expected.map(|(at, direction)| (at, What::Advance { direction })));
        assert_eq!(due.next_ns(), Some(7));
    }
}
