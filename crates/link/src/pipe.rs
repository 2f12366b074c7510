//! One direction of a link: chance, then the queue and its rate, then the delay.

use crate::chance::streams;
use crate::fate::{Fate, Fates};
use crate::queue::{Backlog, Waiting};
use crate::server::Server;
use crate::steps::Steps;
use crate::{Conditions, Delivery, Reason, Sink, Trace};

/// One direction of a link. `T` is the caller's handle of a frame. Times are nanoseconds of one
/// clock, which the caller reads; frames are offered in the order of their arrival.
pub struct Pipe<T> {
    conditions: Conditions,
    fates: Fates,
    backlog: Backlog<T>,
    server: Server,
    delays: Option<Steps<i64>>,
    last_due_ns: i64,
}

impl<T: Copy> Pipe<T> {
    /// A direction under these conditions, which [`Conditions::check`] has passed. `start_ns` is
    /// when a trace begins.
    pub fn new(conditions: Conditions, seed: u64, start_ns: i64) -> Self {
        let mut stream = streams(seed);
        let server = Server::new(&conditions, start_ns);
        let mut backlog = Backlog::new(stream());
        backlog.set(&conditions, &server);
        Pipe {
            fates: Fates::new(stream, &conditions),
            backlog,
            server,
            delays: delays(&conditions, start_ns),
            conditions,
            last_due_ns: i64::MIN,
        }
    }

    /// Other conditions from now on. Frames that wait are kept, and what did not change keeps its
    /// state and its random stream. [`Pipe::advance`] to now first: what happened before happens
    /// under the conditions of before.
    pub fn change(&mut self, conditions: Conditions, now_ns: i64) {
        let before = std::mem::replace(&mut self.conditions, conditions);
        let after = &self.conditions;
        self.fates.change(&before, after);
        if before.trace != after.trace {
            self.delays = delays(after, now_ns);
        }
        self.server.change(&before, after, now_ns);
        self.backlog.set(after, &self.server);
    }

    /// A frame of `bytes` from its Ethernet header on, without check sequence, enters.
    pub fn offer(&mut self, arrival_ns: i64, bytes: u32, frame: T, sink: &mut impl Sink<T>) {
        let fate = self.fates.draw(&self.conditions);
        if fate.lost {
            return sink.drop(frame, Reason::Loss);
        }
        if self.server.is_open() && self.backlog.first().is_none() {
            return self.depart(arrival_ns, frame, &fate, sink);
        }
        self.advance(arrival_ns, sink);
        self.backlog.enter(Waiting { frame, arrival_ns, bytes, fate }, &self.server, sink);
        self.advance(arrival_ns, sink);
    }

    /// Does what the queue does until now, at its exact times.
    pub fn advance(&mut self, now_ns: i64, sink: &mut impl Sink<T>) {
        while let Some(start_ns) = self.next_ns().filter(|start| *start <= now_ns) {
            if let Some(first) = self.backlog.leave(start_ns, sink) {
                let left_ns = self.server.serve(start_ns, first.bytes, first.fate.copies);
                self.depart(left_ns, first.frame, &first.fate, sink);
            }
        }
    }

    /// When [`Pipe::advance`] next has something to do.
    pub fn next_ns(&self) -> Option<i64> {
        self.backlog.first().map(|first| self.server.start_ns(first.arrival_ns))
    }

    /// How many frames and bytes wait for the rate; the one that is leaving is not among them.
    pub fn waiting(&self) -> (usize, u64) {
        self.backlog.size()
    }

    /// The frame enters the delay.
    fn depart(&mut self, left_ns: i64, frame: T, fate: &Fate, sink: &mut impl Sink<T>) {
        let asked_ns = match &self.delays {
            Some(trace) => trace.at(left_ns).value,
            None => self.conditions.delay_ns,
        };
        let delay_ns = (asked_ns + fate.jitter_ns).max(0);
        let reordered = fate.reordered && delay_ns > 0;
        let due_ns = if reordered { left_ns } else { self.in_order(left_ns + delay_ns) };
        let Fate { copies, corrupt, .. } = *fate;
        sink.deliver(Delivery { due_ns, frame, copies, corrupt, reordered });
    }

    fn in_order(&mut self, due_ns: i64) -> i64 {
        self.last_due_ns = self.last_due_ns.max(due_ns);
        self.last_due_ns
    }
}

fn delays(conditions: &Conditions, epoch_ns: i64) -> Option<Steps<i64>> {
    match &conditions.trace {
        Some(Trace::Delay { points, period_ns }) => {
            Some(Steps::new(epoch_ns, points.clone(), *period_ns))
        }
        _ => None,
    }
}
