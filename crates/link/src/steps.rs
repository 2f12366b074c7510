//! Values that change over time, in steps: traces of rate and of delay.

/// What holds at a moment, and until when.
#[derive(Clone, Copy)]
pub(crate) struct Step<V> {
    pub(crate) value: V,
    /// `None`: for ever.
    pub(crate) until_ns: Option<i64>,
}

/// A trace that begins at `epoch_ns`.
pub(crate) struct Steps<V> {
    epoch_ns: i64,
    points: Vec<(i64, V)>,
    period_ns: Option<i64>,
}

impl<V: Copy> Steps<V> {
    /// `points` begin at 0 and go forward; `period_ns` is more than the last.
    pub(crate) fn new(epoch_ns: i64, points: Vec<(i64, V)>, period_ns: Option<i64>) -> Self {
        Steps { epoch_ns, points, period_ns }
    }

    /// What holds at `at_ns`; before the epoch, what holds at its start.
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

/// One round of a trace of rate.
pub(crate) struct Round {
    pub(crate) period_ns: i64,
    /// The sum of rate times nanoseconds.
    pub(crate) sum: u128,
}

impl Steps<u64> {
    /// Reckons a round; there is none without a period.
    pub(crate) fn round(&self) -> Option<Round> {
        let period_ns = self.period_ns?;
        let ends = self.points.iter().skip(1).map(|point| point.0).chain([period_ns]);
        let parts = self.points.iter().zip(ends);
        let sum = parts.map(|(point, end)| (end - point.0) as u128 * u128::from(point.1)).sum();
        Some(Round { period_ns, sum })
    }

    /// The mean rate of a round, or else the rate that stays in the end.
    pub(crate) fn mean_rate(&self, round: Option<&Round>) -> u64 {
        match round {
            Some(round) => (round.sum / round.period_ns as u128) as u64,
            None => self.points[self.points.len() - 1].1,
        }
    }
}
