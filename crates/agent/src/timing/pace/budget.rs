//! The budget of real time: how much a real-time thread must rest so that the kernel never stops it.
//!
//! The kernel stops a real-time thread that was awake for 95 % of a second for the rest of it (sched(7),
//! `sched_rt_runtime_us`; -1 disables that). Both threads that must be on time keep this budget: the one that
//! forwards, by the CPU time that it used, and the sender of a probe, by the time between two sleeps, which
//! needs no system call in a loop that spins.

use delaylab_os::process::scheduling;

/// The share of the allowed real time that the thread leaves unused, in percent. Others can use only a part
/// of short rests, and the kernel guarantees them 5 % of a second (sched-deadline.rst, fair servers).
const SPARE: i64 = 5;

/// The length of a rest.
pub(crate) const REST_NS: i64 = 40_000;

/// The time awake that a thread has not yet made up for by rests.
#[derive(Debug)]
pub(crate) struct RealTimeBudget {
    /// The time awake, in ns, that 100 ns of rest make up for; `None` if there is no limit.
    awake_per_100: Option<i64>,
    debt_ns: i64,
}

impl RealTimeBudget {
    /// Build the budget of a thread; without real time there is no limit.
    pub(crate) fn new(realtime: bool) -> Self {
        Self { awake_per_100: realtime.then(awake_per_100).flatten(), debt_ns: 0 }
    }

    /// Return true if the kernel would stop a thread that never rests.
    pub(crate) fn is_limited(&self) -> bool {
        self.awake_per_100.is_some()
    }

    /// Return the time awake that is not made up for.
    pub(crate) fn debt_ns(&self) -> i64 {
        self.debt_ns
    }

    /// Add time awake.
    pub(crate) fn spend(&mut self, awake_ns: i64) {
        self.debt_ns += awake_ns;
    }

    /// Make up for time awake by `rested_ns` of rest.
    pub(crate) fn repay(&mut self, rested_ns: i64) {
        self.debt_ns = (self.debt_ns - self.made_up_by(rested_ns)).max(0);
    }

    /// Return the time awake that `rested_ns` of rest make up for.
    pub(crate) fn made_up_by(&self, rested_ns: i64) -> i64 {
        rested_ns * self.awake_per_100.unwrap_or(0) / 100
    }

    /// Return the rest that `awake_ns` need, or 0 without a limit.
    #[cfg(test)]
    pub(crate) fn rest_for(&self, awake_ns: i64) -> i64 {
        self.awake_per_100.map_or(0, |awake| awake_ns * 100 / (100 + awake))
    }
}

/// Return the time awake that 100 ns of rest make up for, from the kernel's real-time share less `SPARE`.
fn awake_per_100() -> Option<i64> {
    let share = (scheduling::realtime_percent()? - SPARE).clamp(1, 99);
    Some(share * 100 / (100 - share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_owes_what_it_was_awake_until_it_rests() {
        let mut budget = RealTimeBudget { awake_per_100: Some(900), debt_ns: 0 };
        budget.spend(9_000);
        budget.repay(400);
        assert_eq!(budget.debt_ns(), 5_400);
        budget.repay(10_000);
        assert_eq!(budget.debt_ns(), 0, "rests are not saved up");
    }

    #[test]
    fn a_thread_without_real_time_has_no_limit() {
        assert!(!RealTimeBudget::new(false).is_limited());
    }
}
