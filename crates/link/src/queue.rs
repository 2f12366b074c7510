//! The queue of frames that wait for the rate.

use std::collections::VecDeque;

use crate::random_draws::{Chance, RandomDraw, Stream};
use crate::server::Server;
use crate::{Conditions, Discipline, QueuePlace, Reason, Sink, Trace};

/// The least round trip time from which the default size of a queue follows.
const SHORTEST_ROUND_TRIP_NS: i64 = 10_000_000;
/// The least default size of a queue, in full frames.
const FEWEST_FRAMES: u64 = 10;
/// The length of a full frame. To CoDel a queue that holds no more is never too long.
const FULL_FRAME_BYTES: u64 = 1514;
/// The bits of a full frame with Ethernet's framing, the unit in which RED counts idle time.
const FULL_FRAME_BITS: f64 = 1538.0 * 8.0;

/// The limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The maximum number of frames.
    Packets(u64),
    /// The maximum number of bytes, counted from the Ethernet headers on.
    Bytes(u64),
}

/// A waiting frame.
#[derive(Clone, Copy)]
pub(crate) struct Waiting<T> {
    pub(crate) frame: T,
    pub(crate) arrival_ns: i64,
    pub(crate) bytes: u32,
    pub(crate) draw: RandomDraw,
}

/// The queue and the state of its disciplines.
pub(crate) struct Backlog<T> {
    frames: VecDeque<Waiting<T>>,
    bytes: u64,
    limit: Limit,
    discipline: Discipline,
    codel: Codel,
    red: Red,
}

impl<T: Copy> Backlog<T> {
    pub(crate) fn new(stream: Stream) -> Self {
        Backlog {
            frames: VecDeque::new(),
            bytes: 0,
            limit: Limit::Packets(0),
            discipline: Discipline::DropTail,
            codel: Codel::default(),
            red: Red::new(stream),
        }
    }

    /// Change limit and discipline; waiting frames are kept, even beyond the limit.
    pub(crate) fn set(&mut self, conditions: &Conditions, server: &Server) {
        self.limit = limit(conditions, server.mean_bps().unwrap_or(0));
        self.discipline =
            conditions.queue.as_ref().map(|queue| queue.discipline.clone()).unwrap_or_default();
    }

    pub(crate) fn first(&self) -> Option<&Waiting<T>> {
        self.frames.front()
    }

    /// Return the number of waiting frames and bytes.
    pub(crate) fn size(&self) -> (usize, u64) {
        (self.frames.len(), self.bytes)
    }

    /// Enqueue a frame or drop it.
    pub(crate) fn enter(&mut self, frame: Waiting<T>, server: &Server, sink: &mut impl Sink<T>) {
        if self.drops_early(frame.arrival_ns, server) {
            return sink.drop(frame.frame, Reason::Early);
        }
        let waits = !self.frames.is_empty() || server.start_ns(frame.arrival_ns) > frame.arrival_ns;
        if waits && !self.has_room(frame.bytes) {
            return sink.drop(frame.frame, Reason::Queue);
        }
        self.bytes += u64::from(frame.bytes);
        self.frames.push_back(frame);
    }

    /// Dequeue the frame that begins to leave now.
    pub(crate) fn leave(&mut self, now_ns: i64, sink: &mut impl Sink<T>) -> Option<Waiting<T>> {
        let (frames, bytes) = (&mut self.frames, &mut self.bytes);
        let mut take = || {
            let frame = frames.pop_front()?;
            *bytes -= u64::from(frame.bytes);
            Some((frame, now_ns - frame.arrival_ns, *bytes))
        };
        match self.discipline {
            Discipline::Codel { target_ns, interval_ns } => {
                let target = Target { target_ns, interval_ns };
                let drop = |dropped: Waiting<T>| sink.drop(dropped.frame, Reason::Early);
                self.codel.next(target, now_ns, take, drop)
            }
            Discipline::DropTail | Discipline::Red { .. } => take().map(|taken| taken.0),
        }
    }

    fn drops_early(&mut self, arrival_ns: i64, server: &Server) -> bool {
        let Discipline::Red { min_bytes, max_bytes, probability, weight } = self.discipline else {
            return false;
        };
        let bps = server.mean_bps().unwrap_or(0) as f64;
        let could_have_left = server.idle_ns(arrival_ns) as f64 * bps / 1e9 / FULL_FRAME_BITS;
        let limits = Limits { min_bytes, max_bytes, probability, weight };
        self.red.drops(&limits, self.bytes, could_have_left)
    }

    fn has_room(&self, bytes: u32) -> bool {
        match self.limit {
            Limit::Packets(most) => (self.frames.len() as u64) < most,
            Limit::Bytes(most) => self.bytes + u64::from(bytes) <= most,
        }
    }
}

/// Return the queue's limit under these conditions.
fn limit(conditions: &Conditions, bps: u64) -> Limit {
    let configured = conditions.queue.as_ref();
    if conditions.held_by_sender() {
        return Limit::Bytes(u64::MAX);
    }
    match (configured.and_then(|queue| queue.packets), configured.and_then(|queue| queue.bytes)) {
        (Some(packets), _) => Limit::Packets(packets),
        (_, Some(bytes)) => Limit::Bytes(bytes),
        (None, None) => {
            let round_trip = (2 * longest_delay(conditions)).max(SHORTEST_ROUND_TRIP_NS);
            let bytes = u128::from(bps) * round_trip as u128 / 8_000_000_000;
            Limit::Bytes((bytes as u64).max(FEWEST_FRAMES * FULL_FRAME_BYTES))
        }
    }
}

fn longest_delay(conditions: &Conditions) -> i64 {
    match &conditions.trace {
        Some(Trace::Delay { points, .. }) => points.iter().map(|point| point.1).max().unwrap_or(0),
        _ => conditions.delay_ns,
    }
}

impl Conditions {
    /// Return true if frames wait for the rate at the sender's own interface.
    #[must_use]
    pub fn held_by_sender(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.place == QueuePlace::Sender)
    }

    /// Return the configured or default limit of the queue; `None` without a rate, where nothing waits. The
    /// default is the bytes that arrive at the rate (a trace's mean) within twice the delay or 10 ms,
    /// whichever is longer, but at least ten full frames.
    pub fn queue_limit(&self) -> Option<Limit> {
        Server::new(self, 0).mean_bps().map(|bps| limit(self, bps))
    }
}

/// The parameters of [`crate::Discipline::Codel`].
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) target_ns: i64,
    pub(crate) interval_ns: i64,
}

/// Controlled delay (CoDel): the state and the control law of RFC 8289, section 5.
#[derive(Default)]
pub(crate) struct Codel {
    /// The time at which the waiting time will have been above the target for one interval.
    first_above_ns: Option<i64>,
    dropping: bool,
    drop_next_ns: i64,
    count: u64,
    last_count: u64,
}

impl Codel {
    /// Return the frame that leaves at `now_ns`. `take` removes the next frame from the queue and returns it
    /// with its waiting time and the bytes left in the queue; `drop` receives dropped frames.
    pub(crate) fn next<F>(
        &mut self,
        target: Target,
        now_ns: i64,
        mut take: impl FnMut() -> Option<(F, i64, u64)>,
        mut drop: impl FnMut(F),
    ) -> Option<F> {
        let (mut frame, mut may_drop) = self.judge(target, now_ns, take());
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now_ns >= self.drop_next_ns {
                frame.map(&mut drop);
                self.count += 1;
                (frame, may_drop) = self.judge(target, now_ns, take());
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next_ns += target.wait_ns(self.count);
                }
            }
        } else if may_drop {
            frame.map(&mut drop);
            (frame, _) = self.judge(target, now_ns, take());
            self.begin(target, now_ns);
        }
        frame
    }

    /// Return the frame, and true if frames have waited too long for a whole interval.
    fn judge<F>(
        &mut self,
        target: Target,
        now_ns: i64,
        taken: Option<(F, i64, u64)>,
    ) -> (Option<F>, bool) {
        let Some((frame, waited_ns, left)) = taken else {
            self.first_above_ns = None;
            return (None, false);
        };
        if waited_ns < target.target_ns || left <= FULL_FRAME_BYTES {
            self.first_above_ns = None;
            return (Some(frame), false);
        }
        let since = *self.first_above_ns.get_or_insert(now_ns + target.interval_ns);
        (Some(frame), now_ns >= since)
    }

    /// Enter the dropping state. Resume the former drop rate if the last dropping state ended recently.
    fn begin(&mut self, target: Target, now_ns: i64) {
        self.dropping = true;
        let more = self.count - self.last_count;
        let recent = now_ns - self.drop_next_ns < 16 * target.interval_ns;
        self.count = if more > 1 && recent { more } else { 1 };
        self.drop_next_ns = now_ns + target.wait_ns(self.count);
        self.last_count = self.count;
    }
}

impl Target {
    /// Return the time to the next drop, by the control law.
    fn wait_ns(self, count: u64) -> i64 {
        (self.interval_ns as f64 / libm::sqrt(count as f64)) as i64
    }
}

/// The parameters of [`crate::Discipline::Red`].
pub(crate) struct Limits {
    pub(crate) min_bytes: u64,
    pub(crate) max_bytes: u64,
    pub(crate) probability: f64,
    pub(crate) weight: f64,
}

/// Random early detection (RED), after Floyd and Jacobson 1993, figure 2.
pub(crate) struct Red {
    chance: Chance,
    /// The mean length of the queue, in bytes.
    mean: f64,
    /// Frames since the last drop; -1 before the first frame above the lower limit.
    count: i64,
}

impl Red {
    pub(crate) fn new(stream: Stream) -> Self {
        Red { chance: Chance::new(stream), mean: 0.0, count: -1 }
    }

    /// Return true if the next frame is to be dropped. It finds `waiting` bytes, or an empty queue after an
    /// idle time in which `could_have_left` frames could have left.
    pub(crate) fn drops(&mut self, limits: &Limits, waiting: u64, could_have_left: f64) -> bool {
        let keeps = 1.0 - limits.weight;
        self.mean = match waiting {
            0 => self.mean * libm::pow(keeps, could_have_left + 1.0),
            _ => self.mean * keeps + waiting as f64 * limits.weight,
        };
        let (min, max) = (limits.min_bytes as f64, limits.max_bytes as f64);
        if self.mean < min {
            self.count = -1;
            return false;
        }
        self.count += 1;
        let drops = self.mean >= max || {
            let share = limits.probability * (self.mean - min) / (max - min);
            // Spread the drops evenly: each frame that passes makes the next drop more likely.
            let even = share / (1.0 - self.count as f64 * share).max(share);
            self.chance.happens(even)
        };
        if drops {
            self.count = 0;
        }
        drops
    }
}
