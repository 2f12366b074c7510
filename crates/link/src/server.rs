//! The server of the queue: unlimited, at a rate, at a rate that changes, or at opportunities. A frame's
//! departure time is known when it begins to leave.

use crate::steps::{Round, Steps};
use crate::{Conditions, Rate, Trace};

/// The unit of work: a bit takes this much, and a rate in bits per second does that much work per nanosecond.
const WORK_OF_A_BIT: u64 = 1_000_000_000;

/// The server of the queue.
pub(crate) struct Server {
    kind: Kind,
    framing: Rate,
    /// The time at which the last frame has left.
    free_ns: i64,
    /// The work left over from a last, partly used nanosecond.
    owed: u64,
}

enum Kind {
    Open,
    Rate(u64),
    Budget(Budget),
    Trace(Steps<u64>, Option<Round>),
    Opportunities(Opportunities),
}

impl Server {
    pub(crate) fn new(conditions: &Conditions, epoch_ns: i64) -> Self {
        Server {
            kind: Kind::of(conditions, epoch_ns),
            framing: framing(conditions),
            free_ns: i64::MIN,
            owed: 0,
        }
    }

    /// Change the conditions; return true if the rate or the trace has changed.
    pub(crate) fn change(&mut self, before: &Conditions, after: &Conditions, now_ns: i64) -> bool {
        self.framing = framing(after);
        let other = served_by(before) != served_by(after);
        if other {
            self.kind = Kind::of(after, now_ns);
            self.owed = 0;
        }
        other
    }

    /// Abort the frame that is leaving.
    pub(crate) fn stop(&mut self, now_ns: i64) {
        self.free_ns = now_ns;
    }

    /// Return true if frames never wait.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Open)
    }

    /// Return the time at which a frame that arrives at `arrival_ns`, with none before it, begins to leave.
    pub(crate) fn start_ns(&self, arrival_ns: i64) -> i64 {
        let start = arrival_ns.max(self.free_ns);
        match &self.kind {
            Kind::Opportunities(opportunities) => opportunities.start_ns(start),
            Kind::Budget(budget) => budget.start_ns(start),
            _ => start,
        }
    }

    /// Send a frame from [`Server::start_ns`] on; return the time at which it and its copies have left.
    pub(crate) fn serve(&mut self, start_ns: i64, frame_bytes: u32, copies: u8) -> i64 {
        self.serve_part(start_ns, frame_bytes, copies, 1.0)
    }

    /// Send the share of a frame that is left.
    pub(crate) fn serve_part(&mut self, now_ns: i64, bytes: u32, copies: u8, share: f64) -> i64 {
        if now_ns > self.free_ns {
            self.owed = 0;
        }
        self.free_ns = match &mut self.kind {
            Kind::Open => now_ns,
            Kind::Rate(bps) => {
                let work = work(&self.framing, bytes, copies, share) + self.owed;
                self.owed = work % *bps;
                now_ns + (work / *bps) as i64
            }
            Kind::Trace(steps, round) => {
                let work = work(&self.framing, bytes, copies, share) + self.owed;
                let (end_ns, owed) = finish(steps, round.as_ref(), now_ns, work);
                self.owed = owed;
                end_ns
            }
            Kind::Budget(budget) => {
                budget.take(now_ns, framed(&self.framing, bytes) * u64::from(copies));
                now_ns
            }
            Kind::Opportunities(opportunities) => {
                opportunities.serve(now_ns, bytes, f64::from(copies) * share)
            }
        };
        self.free_ns
    }

    /// Return the server's idle time when a frame arrives at `arrival_ns`.
    pub(crate) fn idle_ns(&self, arrival_ns: i64) -> i64 {
        arrival_ns.saturating_sub(self.free_ns).max(0)
    }

    /// Return the rate in bits per second; for a trace the mean of one period.
    pub(crate) fn mean_bps(&self) -> Option<u64> {
        match &self.kind {
            Kind::Open => None,
            Kind::Rate(bps) => Some(*bps),
            Kind::Budget(budget) => Some(budget.bps),
            Kind::Trace(steps, round) => Some(steps.mean_rate(round.as_ref())),
            Kind::Opportunities(opportunities) => Some(opportunities.mean_bps()),
        }
    }
}

impl Kind {
    fn of(conditions: &Conditions, epoch_ns: i64) -> Self {
        match (&conditions.trace, &conditions.rate) {
            (Some(Trace::Rate { points, period_ns }), _) => {
                let steps = Steps::new(epoch_ns, points.clone(), *period_ns);
                let round = steps.round();
                Kind::Trace(steps, round)
            }
            (Some(Trace::Opportunities { at_ns, period_ns, bytes }), _) => {
                Kind::Opportunities(Opportunities::new(epoch_ns, at_ns.clone(), *period_ns, *bytes))
            }
            (_, Some(Rate { bps, refills: Some(refills), .. })) => {
                Kind::Budget(Budget::new(epoch_ns, *bps, *refills))
            }
            (_, Some(rate)) => Kind::Rate(rate.bps),
            (_, None) => Kind::Open,
        }
    }
}

/// Return the trace or else the rate that determines how fast frames leave, apart from framing.
fn served_by(conditions: &Conditions) -> (Option<&Trace>, Option<(u64, Option<u32>)>) {
    match &conditions.trace {
        Some(trace @ (Trace::Rate { .. } | Trace::Opportunities { .. })) => (Some(trace), None),
        _ => (None, conditions.rate.as_ref().map(|rate| (rate.bps, rate.refills))),
    }
}

/// Return the configured framing, or else Ethernet's.
fn framing(conditions: &Conditions) -> Rate {
    conditions.rate.clone().unwrap_or(Rate::ethernet(0))
}

/// Return the work for a share of a frame and its copies. For whole frames it is exact: less than 2⁵³.
fn work(framing: &Rate, frame_bytes: u32, copies: u8, share: f64) -> u64 {
    let work = framed(framing, frame_bytes) * 8 * WORK_OF_A_BIT * u64::from(copies);
    (work as f64 * share) as u64
}

/// Return the bytes that a frame counts with.
fn framed(framing: &Rate, frame_bytes: u32) -> u64 {
    u64::from(frame_bytes.saturating_add(framing.overhead_bytes).max(framing.minimum_bytes))
}

/// A budget of bytes that is set anew several times a second. What is left of one is lost, and so is what a frame
/// took beyond it: a rate of few bytes per budget is exceeded by half a frame each time.
struct Budget {
    epoch_ns: i64,
    bps: u64,
    refills: u32,
    /// The number of the current budget, counted from the epoch, and its remaining bytes.
    current: i64,
    left: u64,
}

impl Budget {
    fn new(epoch_ns: i64, bps: u64, refills: u32) -> Self {
        Budget { epoch_ns, bps, refills, current: -1, left: 0 }
    }

    /// Return the time at which a frame that arrives at `arrival_ns` passes.
    fn start_ns(&self, arrival_ns: i64) -> i64 {
        let now = self.at(arrival_ns);
        if now <= self.current && self.left > 0 {
            return arrival_ns;
        }
        let next = self.first_from(now.max(self.current + 1));
        arrival_ns.max(self.time_ns(next))
    }

    /// Take a frame's bytes at [`Budget::start_ns`].
    fn take(&mut self, now_ns: i64, bytes: u64) {
        let now = self.at(now_ns);
        if now > self.current {
            self.current = now;
            self.left = (self.until(now + 1) - self.until(now)) as u64;
        }
        self.left = self.left.saturating_sub(bytes);
    }

    /// Return the number of the budget that is in use at a time.
    fn at(&self, time_ns: i64) -> i64 {
        let since = i128::from(time_ns - self.epoch_ns).max(0);
        (since * i128::from(self.refills)).div_euclid(NS_PER_S) as i64
    }

    /// Return the bytes of all budgets before this one.
    fn until(&self, budget: i64) -> i128 {
        i128::from(budget) * i128::from(self.bps) / (8 * i128::from(self.refills))
    }

    /// Return the first budget from this one on that has a byte: at a low rate some have none.
    fn first_from(&self, budget: i64) -> i64 {
        let with_a_byte = (self.until(budget) + 1) * 8 * i128::from(self.refills);
        let bps = i128::from(self.bps);
        ((with_a_byte + bps - 1).div_euclid(bps) - 1) as i64
    }

    /// Return the time from which on a budget is in use.
    fn time_ns(&self, budget: i64) -> i64 {
        let refills = i128::from(self.refills);
        let since = (i128::from(budget) * NS_PER_S + refills - 1).div_euclid(refills);
        self.epoch_ns + since as i64
    }
}

const NS_PER_S: i128 = 1_000_000_000;

/// Return the end time of work that begins at `start_ns`, and the work that the last nanosecond leaves over.
fn finish(steps: &Steps<u64>, round: Option<&Round>, start_ns: i64, mut work: u64) -> (i64, u64) {
    let mut now = start_ns;
    if let Some(round) = round {
        // Skip whole rounds at once: a trace may carry next to nothing in each.
        let rounds = u128::from(work.saturating_sub(1)) / round.sum;
        work -= (rounds * round.sum) as u64;
        now += rounds as i64 * round.period_ns;
    }
    loop {
        let step = steps.at(now);
        let length = step.until_ns.map_or(i64::MAX, |until| until - now);
        let passed = step.value.saturating_mul(length as u64);
        if work <= passed {
            let taken = work.checked_div(step.value).unwrap_or(0);
            return (now + taken as i64, work - taken * step.value);
        }
        work -= passed;
        now += length;
    }
}

/// The bytes before a packet: an Ethernet header here, four bytes of a tunnel in mahimahi.
const HEADER_BYTES: u32 = 14;
const TUNNEL_BYTES: u32 = 4;

/// A trace of opportunities, times at which bytes may leave, as in mahimahi's traces; and the position within it.
pub(crate) struct Opportunities {
    epoch_ns: i64,
    at_ns: Vec<i64>,
    period_ns: i64,
    bytes: u32,
    /// The opportunity in use, counted from the epoch, and its remaining bytes.
    current: i64,
    left: u32,
}

impl Opportunities {
    pub(crate) fn new(epoch_ns: i64, at_ns: Vec<i64>, period_ns: i64, bytes: u32) -> Self {
        Opportunities { epoch_ns, at_ns, period_ns, bytes, current: -1, left: 0 }
    }

    /// Return the time at which a frame that arrives at `arrival_ns` can begin to leave.
    pub(crate) fn start_ns(&self, arrival_ns: i64) -> i64 {
        self.time_ns(self.usable(arrival_ns))
    }

    /// Send `times` copies of a frame that arrived at `arrival_ns`, and return the time at which the last
    /// byte leaves.
    pub(crate) fn serve(&mut self, arrival_ns: i64, frame_bytes: u32, times: f64) -> i64 {
        let opportunity = self.usable(arrival_ns);
        if opportunity != self.current {
            self.current = opportunity;
            self.left = self.bytes;
        }
        let packet = frame_bytes.saturating_sub(HEADER_BYTES) + TUNNEL_BYTES;
        let mut needed = (f64::from(packet) * times).ceil() as u64;
        while needed > u64::from(self.left) {
            needed -= u64::from(self.left);
            self.current += 1;
            self.left = self.bytes;
        }
        self.left -= needed as u32;
        self.time_ns(self.current)
    }

    /// Return the mean rate in bits per second.
    pub(crate) fn mean_bps(&self) -> u64 {
        let bits = self.at_ns.len() as u128 * u128::from(self.bytes) * 8;
        u64::try_from(bits * 1_000_000_000 / self.period_ns as u128).unwrap_or(u64::MAX)
    }

    /// Return the first opportunity at or after `at_ns` that has bytes left.
    fn usable(&self, at_ns: i64) -> i64 {
        self.first_from(at_ns).max(self.current + i64::from(self.left == 0))
    }

    fn first_from(&self, at_ns: i64) -> i64 {
        let since = at_ns - self.epoch_ns;
        // The end of a round belongs to it, not to the next one.
        let round = (since - 1).div_euclid(self.period_ns);
        let within = since - round * self.period_ns;
        let next = self.at_ns.partition_point(|&at| at < within);
        (round * self.at_ns.len() as i64 + next as i64).max(0)
    }

    fn time_ns(&self, opportunity: i64) -> i64 {
        let count = self.at_ns.len() as i64;
        let round = opportunity / count;
        self.epoch_ns + round * self.period_ns + self.at_ns[(opportunity % count) as usize]
    }
}
