//! Helpers of the pipe tests: conditions from JSON, a sink that records everything, a run in virtual time.
#![allow(dead_code, reason = "each test file uses its part")]

use delaylab_link::{Conditions, Configured, Delivery, Pipe, Reason, Sink};
use serde_json::Value;

/// A frame's number, in the order in which frames are offered.
pub(crate) type Frame = u64;
pub(crate) const MS: i64 = 1_000_000;
pub(crate) const S: i64 = 1_000_000_000;

/// Parse conditions and check them.
pub(crate) fn conditions(json: &Value) -> Conditions {
    let conditions: Conditions = serde_json::from_value(json.clone()).expect("readable");
    conditions.check().expect("possible");
    conditions
}

/// Return conditions after a change, by what is named.
pub(crate) fn merge(before: &Value, change: &Value) -> Value {
    let settings = |value: &Value| serde_json::from_value(value.clone()).unwrap();
    let after = Configured::new(settings(before)).unwrap().after(&settings(change)).unwrap();
    serde_json::to_value(after).unwrap()
}

/// A sink that records a pipe's decisions in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kept {
    pub delivered: Vec<Delivery<Frame>>,
    pub dropped: Vec<(Frame, Reason)>,
}

impl Sink<Frame> for Kept {
    fn deliver(&mut self, delivery: Delivery<Frame>) {
        self.delivered.push(delivery);
    }

    fn drop(&mut self, frame: Frame, why: Reason) {
        self.dropped.push((frame, why));
    }
}

impl Kept {
    pub(crate) fn dropped_for(&self, why: Reason) -> usize {
        self.dropped.iter().filter(|dropped| dropped.1 == why).count()
    }

    /// Return the delay of each delivered frame, given the arrivals of all frames.
    pub(crate) fn delays(&self, arrivals: &[(i64, u32)]) -> Vec<i64> {
        self.delivered.iter().map(|d| d.due_ns - arrivals[d.frame as usize].0).collect()
    }
}

/// Offer frames of `(arrival_ns, bytes)` and empty the queue.
pub(crate) fn run(asked: &Value, seed: u64, arrivals: &[(i64, u32)]) -> Kept {
    let mut pipe = Pipe::new(conditions(asked), seed, 0);
    let mut kept = Kept::default();
    offer_all(&mut pipe, 0, arrivals, &mut kept);
    drain(&mut pipe, &mut kept);
    kept
}

/// Offer frames, numbered from `first` on.
pub(crate) fn offer_all(
    pipe: &mut Pipe<Frame>,
    first: u64,
    arrivals: &[(i64, u32)],
    kept: &mut Kept,
) {
    for (number, &(arrival_ns, bytes)) in (first..).zip(arrivals) {
        pipe.offer(arrival_ns, bytes, number, kept);
    }
}

/// Advance the pipe until its queue is empty.
pub(crate) fn drain(pipe: &mut Pipe<Frame>, kept: &mut Kept) {
    while let Some(next_ns) = pipe.next_ns() {
        pipe.advance(next_ns, kept);
    }
}

/// Return frames of one size at even intervals, from 0 on.
pub(crate) fn evenly(count: usize, interval_ns: i64, bytes: u32) -> Vec<(i64, u32)> {
    (0..count as i64).map(|i| (i * interval_ns, bytes)).collect()
}

/// Compute the mean and standard deviation.
pub(crate) fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt())
}
