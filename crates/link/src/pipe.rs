//! One direction of a link.

use crate::{Conditions, Delivery, Sink};

/// One direction of a link. `T` is the caller's handle of a frame. Times are nanoseconds of one
/// clock, which the caller reads; frames are offered in the order of their arrival.
pub struct Pipe<T> {
    conditions: Conditions,
    last_due_ns: i64,
    frames: std::marker::PhantomData<T>,
}

impl<T: Copy> Pipe<T> {
    /// A direction under these conditions, which [`Conditions::check`] has passed. `start_ns` is
    /// when a trace begins.
    pub fn new(conditions: Conditions, seed: u64, start_ns: i64) -> Self {
        let _ = (seed, start_ns);
        Pipe { conditions, last_due_ns: i64::MIN, frames: std::marker::PhantomData }
    }

    /// Other conditions from now on. Frames that wait are kept, and what did not change keeps its
    /// state and its random stream.
    pub fn change(&mut self, conditions: Conditions, now_ns: i64) {
        let _ = now_ns;
        self.conditions = conditions;
    }

    /// A frame of `bytes` from its Ethernet header on, without check sequence, enters.
    pub fn offer(&mut self, arrival_ns: i64, bytes: u32, frame: T, sink: &mut impl Sink<T>) {
        let _ = bytes;
        self.last_due_ns = self.last_due_ns.max(arrival_ns + self.conditions.delay_ns);
        sink.deliver(Delivery {
            due_ns: self.last_due_ns,
            frame,
            copies: 1,
            corrupt: None,
            reordered: false,
        });
    }

    /// Does what the queue does until now, at its exact times.
    pub fn advance(&mut self, now_ns: i64, sink: &mut impl Sink<T>) {
        let _ = (now_ns, sink);
    }

    /// When [`Pipe::advance`] next has something to do.
    pub fn next_ns(&self) -> Option<i64> {
        None
    }

    /// How many frames and bytes wait for the rate.
    pub fn waiting(&self) -> (usize, u64) {
        (0, 0)
    }
}
