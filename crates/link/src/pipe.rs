//! One direction of a link: random decisions first, then the queue and its rate, then the delay.

use std::iter;

use crate::queue::{Backlog, Waiting};
use crate::random_draws::{RandomDraw, RandomDraws, streams};
use crate::server::Server;
use crate::steps::Steps;
use crate::{Conditions, Trace};

/// The longest transmission time of a frame that is delivered as it begins to leave, which saves a wake-up. A
/// frame that takes longer is held back until it has left, so that a change can still reach it.
const HELD_NS: i64 = 1_000_000;

/// A frame that is leaving.
struct Leaving<T> {
    /// The time at which it began to leave, on whatever server.
    began_ns: i64,
    start_ns: i64,
    end_ns: i64,
    /// The share of the frame that was left at the start.
    part: f64,
    frame: Waiting<T>,
}

/// One direction of a link. `T` is the caller's handle of a frame. Times are nanoseconds of one clock, which
/// the caller reads. Frames are offered in the order of their arrival.
pub struct Pipe<T> {
    conditions: Conditions,
    draws: RandomDraws,
    backlog: Backlog<T>,
    server: Server,
    leaving: Option<Leaving<T>>,
    /// The delay over time, and the route.
    delays: Option<Steps<(i64, u32)>>,
    last_due_ns: i64,
    last_route: u32,
    beyond_ns: i64,
}

impl<T: Copy> Pipe<T> {
    /// Build a direction under conditions that have passed [`Conditions::check`]. A trace begins at
    /// `start_ns`.
    pub fn new(conditions: Conditions, seed: u64, start_ns: i64) -> Self {
        let mut stream = streams(seed);
        let server = Server::new(&conditions, start_ns);
        let mut backlog = Backlog::new(stream());
        backlog.set(&conditions, &server);
        Pipe {
            draws: RandomDraws::new(stream, &conditions),
            backlog,
            server,
            leaving: None,
            delays: delays(&conditions, start_ns),
            conditions,
            last_due_ns: i64::MIN,
            last_route: 0,
            beyond_ns: 0,
        }
    }

    /// Let frames leave so much earlier that a network beyond the link, which delays each by at least
    /// `beyond_ns`, is part of the link's delay. Frames whose own delay is shorter leave at once.
    #[must_use]
    pub fn with_network_beyond(self, beyond_ns: i64) -> Self {
        Pipe { beyond_ns, ..self }
    }

    /// Change the conditions. Waiting frames are kept, and unchanged conditions keep their state and their
    /// random streams. Call [`Pipe::advance`] up to now first, so that earlier events happen under the
    /// earlier conditions.
    pub fn change(&mut self, conditions: Conditions, now_ns: i64) {
        let before = std::mem::replace(&mut self.conditions, conditions);
        let after = &self.conditions;
        self.draws.change(&before, after);
        if before.trace != after.trace {
            self.delays = delays(after, now_ns);
        }
        let other_server = self.server.change(&before, after, now_ns);
        self.backlog.set(after, &self.server);
        if let Some(leaving) = self.leaving.as_mut().filter(|_| other_server) {
            leaving.go_on(&mut self.server, now_ns);
        }
    }

    /// Offer a frame of `bytes`, counted from its Ethernet header on, without check sequence. While the link is
    /// not up it is dropped, and no random number is drawn for it.
    pub fn offer(&mut self, arrival_ns: i64, bytes: u32, frame: T, sink: &mut impl Sink<T>) {
        if !self.conditions.state.is_up() {
            return sink.drop(frame, Reason::Down);
        }
        let draw = self.draws.draw(&self.conditions, arrival_ns);
        if draw.lost {
            return sink.drop(frame, Reason::Loss);
        }
        if self.passes_at_once() {
            return self.depart(arrival_ns, arrival_ns, frame, &draw, sink);
        }
        self.advance(arrival_ns, sink);
        self.backlog.enter(Waiting { frame, arrival_ns, bytes, draw }, &self.server, sink);
        self.advance(arrival_ns, sink);
    }

    /// Return true if the next frame will not wait in the queue: nothing limits the rate, and no frame is left of a time
    /// in which something did.
    pub fn passes_at_once(&self) -> bool {
        self.server.is_open() && self.next_ns().is_none()
    }

    /// Process the queue up to now, at its exact times. Offer all frames that arrived until then first.
    pub fn advance(&mut self, now_ns: i64, sink: &mut impl Sink<T>) {
        while let Some(next_ns) = self.next_ns().filter(|next| *next <= now_ns) {
            if let Some(Leaving { began_ns, frame, .. }) = self.leaving.take() {
                self.depart(began_ns, next_ns, frame.frame, &frame.draw, sink);
            } else if let Some(frame) = self.backlog.leave(next_ns, sink) {
                self.begin(next_ns, frame, sink);
            }
        }
    }

    /// Return the time at which [`Pipe::advance`] next has something to do.
    pub fn next_ns(&self) -> Option<i64> {
        match &self.leaving {
            Some(leaving) => Some(leaving.end_ns),
            None => self.backlog.first().map(|first| self.server.start_ns(first.arrival_ns)),
        }
    }

    /// Return the number of frames and bytes that were offered and neither delivered nor dropped yet.
    pub fn waiting(&self) -> (usize, u64) {
        let (frames, bytes) = self.backlog.size();
        match &self.leaving {
            Some(leaving) => (frames + 1, bytes + u64::from(leaving.frame.bytes)),
            None => (frames, bytes),
        }
    }

    /// Begin to send a frame.
    fn begin(&mut self, start_ns: i64, frame: Waiting<T>, sink: &mut impl Sink<T>) {
        let end_ns = self.server.serve(start_ns, frame.bytes, frame.draw.copies);
        if end_ns - start_ns > HELD_NS {
            self.leaving = Some(Leaving { began_ns: start_ns, start_ns, end_ns, part: 1.0, frame });
        } else {
            self.depart(start_ns, end_ns, frame.frame, &frame.draw, sink);
        }
    }

    /// Start a frame's delay.
    fn depart(
        &mut self,
        began_ns: i64,
        left_ns: i64,
        frame: T,
        draw: &RandomDraw,
        sink: &mut impl Sink<T>,
    ) {
        let (configured_ns, route) = match &self.delays {
            Some(trace) => trace.at(left_ns).value,
            None => (self.conditions.delay_ns, self.last_route),
        };
        if route != self.last_route {
            // On the new route nothing is before the frame.
            self.last_route = route;
            self.last_due_ns = i64::MIN;
        }
        let delay_ns = (configured_ns + draw.jitter_ns).max(0);
        let reordered = draw.reordered && delay_ns > 0;
        let held_ns = (delay_ns - self.beyond_ns).max(0);
        let due_ns = if reordered { left_ns } else { self.in_order(left_ns + held_ns) };
        let RandomDraw { copies, corrupt, .. } = *draw;
        // A link without a delay takes as long as the network beyond it.
        let short = !reordered && configured_ns > 0 && delay_ns < self.beyond_ns;
        sink.deliver(Delivery {
            began_ns,
            left_ns,
            due_ns,
            frame,
            copies,
            corrupt,
            reordered,
            short,
        });
    }

    fn in_order(&mut self, due_ns: i64) -> i64 {
        self.last_due_ns = self.last_due_ns.max(due_ns);
        self.last_due_ns
    }
}

impl<T> Leaving<T> {
    /// Continue on another server with the share of the frame that is left.
    fn go_on(&mut self, server: &mut Server, now_ns: i64) {
        let whole = (self.end_ns - self.start_ns).max(1) as f64;
        let left = (self.end_ns - now_ns.clamp(self.start_ns, self.end_ns)) as f64;
        let Waiting { bytes, draw, .. } = &self.frame;
        self.part *= left / whole;
        self.start_ns = now_ns;
        server.stop(now_ns);
        self.end_ns = server.serve_part(now_ns, *bytes, draw.copies, self.part);
    }
}

fn delays(conditions: &Conditions, epoch_ns: i64) -> Option<Steps<(i64, u32)>> {
    match &conditions.trace {
        Some(Trace::Delay { points, routes, period_ns }) => {
            let routes = routes.iter().copied().chain(iter::repeat(0));
            let points = points.iter().zip(routes);
            let points = points.map(|(&(at_ns, delay_ns), route)| (at_ns, (delay_ns, route)));
            Some(Steps::new(epoch_ns, points.collect(), *period_ns))
        }
        _ => None,
    }
}

/// A receiver of a pipe's decisions. Every offered frame either reaches it once or still waits.
pub trait Sink<T> {
    /// Take a frame that leaves the link.
    fn deliver(&mut self, delivery: Delivery<T>);
    /// Take a frame that the link dropped.
    fn drop(&mut self, frame: T, why: Reason);
}

/// A frame that leaves the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The time at which it began to leave: until then it waited in the queue.
    pub began_ns: i64,
    /// The time at which all of it had left, as the rate has it; its delay begins then.
    pub left_ns: i64,
    /// The departure time, on the clock of the arrivals; it may be in the past.
    pub due_ns: i64,
    /// The handle that was offered.
    pub frame: T,
    /// The number of copies: 1, or 2 for a duplicated frame.
    pub copies: u8,
    /// The bit to flip, modulo the number of bits behind the Ethernet header; `None` leaves the frame intact.
    pub corrupt: Option<u64>,
    /// True if the frame went without delay, past earlier frames.
    pub reordered: bool,
    /// True if the frame's delay was shorter than that of the network beyond the link: it comes late.
    pub short: bool,
}

/// The reason why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The configured loss.
    Loss,
    /// The queue was full.
    Queue,
    /// The queue's discipline dropped the frame before the queue was full.
    Early,
    /// The link was down or silent.
    Down,
}
