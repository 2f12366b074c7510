//! Step functions of time: traces of rate and of delay.

/// The value at a time, and the time at which it ends.
#[derive(Clone, Copy)]
pub(crate) struct Step<V> {
    pub(crate) value: V,
    /// The end of the step; `None` if it lasts for ever.
    pub(crate) until_ns: Option<i64>,
}

/// A trace that begins at `epoch_ns`.
pub(crate) struct Steps<V> {
    epoch_ns: i64,
    points: Vec<(i64, V)>,
    period_ns: Option<i64>,
}

impl<V: Copy> Steps<V> {
    /// Build a trace. The times of `points` begin at 0 and ascend; `period_ns` exceeds the last.
    pub(crate) fn new(epoch_ns: i64, points: Vec<(i64, V)>, period_ns: Option<i64>) -> Self {
        Steps { epoch_ns, points, period_ns }
    }

    /// Return the step at `at_ns`; before the epoch, the first one.
    pub(crate) fn at(&self, at_ns: i64) -> Step<V> {
        let since = (at_ns - self.epoch_ns).max(0);
        let within = self.period_ns.map_or(since, |period| since % period);
        let next = self.points.partition_point(|point| point.0 <= within);
        let end = self.points.get(next).map(|point| point.0).or(self.period_ns);
        Step {
            value: self.points[next - 1].1,
            until_ns: end.map(|end| self.epoch_ns + since - within + end),
        }
    }
}

/// One period of a trace of rates.
pub(crate) struct Round {
    pub(crate) period_ns: i64,
    /// The sum of rate times nanoseconds.
    pub(crate) sum: u128,
}

impl Steps<u64> {
    /// Sum up one period; return `None` if the trace does not repeat.
    pub(crate) fn round(&self) -> Option<Round> {
        let period_ns = self.period_ns?;
        let ends = self.points.iter().skip(1).map(|point| point.0).chain([period_ns]);
        let parts = self.points.iter().zip(ends);
        let sum = parts.map(|(point, end)| (end - point.0) as u128 * u128::from(point.1)).sum();
        Some(Round { period_ns, sum })
    }

    /// Return the mean rate of a period, or the last rate if the trace does not repeat.
    pub(crate) fn mean_rate(&self, round: Option<&Round>) -> u64 {
        match round {
            Some(round) => (round.sum / round.period_ns as u128) as u64,
            None => self.points[self.points.len() - 1].1,
        }
    }
}
