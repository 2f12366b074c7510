//! The rests of a real-time thread: how much it must rest, and how much it has.

use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;

use delaylab_os::clock::{Monotonic, Span, thread_cpu};
use delaylab_os::process::scheduling;

/// The time that the thread may be awake ahead of its rests; it may catch up on half of it at leisure.
const DEBT: Span = Span::from_ns(30_000_000);
/// The interval at which the thread checks whether others want the CPU.
const LOOK: Span = Span::from_ns(1_000_000);
/// The time for which a thread that was preempted too often as an ordinary thread stays in real time: at
/// first, and at most; it doubles each time.
const WARY: RangeInclusive<Span> = Span::from_ns(8_000_000_000)..=Span::from_ns(64_000_000_000);
/// The CPU time that others may take before that is too often: this much at once, which kernel threads that
/// nobody can move need now and then, and 1/`BORNE_OF` of the time in the long run. Other rests make more
/// frames late than that, and such a thread runs in them, too.
const BORNE: Span = Span::from_ns(30_000_000);
const BORNE_OF: i64 = 200;

/// The state of the rests that the kernel requires.
pub(super) struct Rests {
    /// The budget as of `settled`, when the thread had used `cpu` of CPU time.
    budget: RealTimeBudget,
    settled: Monotonic,
    cpu: Span,
    /// True while the thread is an ordinary one.
    eased: bool,
    wary: Span,
    wary_until: Monotonic,
    /// The number of preemptions so far.
    preempted: u64,
    /// The CPU time that others took, less the tolerated part, as of `lost_at`.
    lost: Span,
    lost_at: Monotonic,
    own_cpus: bool,
    /// /proc/loadavg, for the number of runnable threads; unused if the thread has CPUs of its own.
    load: Option<File>,
    crowded: bool,
    crowded_at: Monotonic,
}

impl Rests {
    /// Build the state for a thread that may run on `cpus` CPUs. Without real time it needs no rests.
    pub(super) fn new(realtime: bool, cpus: usize) -> Self {
        // A thread that is restricted to some CPUs has them for its own.
        let own_cpus = realtime && cpus < scheduling::online_cpus();
        Self {
            budget: RealTimeBudget::new(realtime),
            settled: Monotonic::now(),
            cpu: thread_cpu(),
            eased: false,
            wary: *WARY.start(),
            wary_until: Monotonic::default(),
            preempted: 0,
            lost: Span::ZERO,
            lost_at: Monotonic::now(),
            own_cpus,
            load: (!own_cpus).then(|| File::open("/proc/loadavg").ok()).flatten(),
            crowded: false,
            crowded_at: Monotonic::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn budget(&self) -> &RealTimeBudget {
        &self.budget
    }

    /// Account for the time since the last call. What counts is not the length of a sleep but the time for
    /// which others had the CPU: much of a short sleep is the kernel's work for this thread.
    pub(super) fn settle(&mut self, now: Monotonic) {
        if self.eased || !self.budget.is_limited() {
            return;
        }
        let cpu = thread_cpu();
        let awake = cpu - self.cpu;
        self.budget.spend(awake);
        self.budget.repay((now - self.settled) - awake);
        (self.settled, self.cpu) = (now, cpu);
    }

    /// Return true if a rest cannot be put off any longer.
    pub(super) fn are_due_at(&mut self, now: Monotonic) -> bool {
        let at_most = self.budget.debt() + (now - self.settled);
        if self.budget.is_limited() && at_most >= DEBT {
            self.settle(now);
        }
        self.budget.debt() >= DEBT
    }

    /// Return true if a thread with CPUs of its own can stay awake, because it can rest as an ordinary
    /// thread.
    pub(super) fn may_be_put_off(&mut self, now: Monotonic) -> bool {
        self.own_cpus && self.may_ease(now)
    }

    /// Return true if the thread should rest in gaps. A sleep in a gap may end late, so only a thread that
    /// cannot rest as an ordinary one does so.
    pub(super) fn are_welcome(&mut self, now: Monotonic) -> bool {
        self.budget.debt() > DEBT / 2 && !self.eased && !self.may_ease(now)
    }

    /// Return true if the thread has been an ordinary one for long enough.
    pub(super) fn owes_nothing_at(&self, now: Monotonic) -> bool {
        self.budget.made_up_by(now - self.settled) >= self.budget.debt()
    }

    pub(super) fn is_eased(&self) -> bool {
        self.eased
    }

    /// Return true if the thread may become an ordinary one, because nobody else seems to want its CPU.
    pub(super) fn may_ease(&mut self, now: Monotonic) -> bool {
        if now >= self.crowded_at + LOOK {
            self.crowded_at = now;
            self.crowded = self.is_crowded();
        }
        now >= self.wary_until && !self.crowded
    }

    /// Record that the thread has become an ordinary one.
    pub(super) fn begin_ease(&mut self) {
        self.eased = true;
        self.preempted = scheduling::preemptions();
    }

    /// Account for `gone` in which the ordinary thread did not run, and return true if it was preempted.
    /// Time taken by the host of a virtual machine does not count: a real-time thread would have lost it,
    /// too.
    pub(super) fn lost_its_cpu(&mut self, now: Monotonic, gone: Span) -> bool {
        self.lost_to_others(scheduling::preemptions(), now, gone)
    }

    fn lost_to_others(&mut self, preempted: u64, now: Monotonic, gone: Span) -> bool {
        if preempted == self.preempted {
            return false;
        }
        let borne = (now - self.lost_at) / BORNE_OF;
        self.lost = (self.lost - borne).max(Span::ZERO) + gone;
        (self.preempted, self.lost_at) = (preempted, now);
        if self.lost > BORNE {
            self.be_wary(now);
        }
        true
    }

    /// Stay in real time for a while.
    pub(super) fn be_wary(&mut self, now: Monotonic) {
        self.wary_until = now + self.wary;
        self.wary = (self.wary * 2).min(*WARY.end());
        self.lost = Span::ZERO;
    }

    /// Record that the thread is in real time again.
    pub(super) fn end_ease(&mut self, now: Monotonic) {
        self.budget.repay(now - self.settled);
        (self.settled, self.cpu, self.eased) = (now, thread_cpu(), false);
    }

    /// Return true if more threads are runnable than there are CPUs, so that an ordinary thread would be
    /// preempted.
    fn is_crowded(&self) -> bool {
        let Some(load) = &self.load else { return false };
        let runnable = || -> Option<usize> {
            let mut text = [0; 64];
            let length = load.read_at(&mut text, 0).ok()?;
            runnable(std::str::from_utf8(text.get(..length)?).ok()?)
        };
        runnable().is_none_or(|runnable| runnable > scheduling::online_cpus())
    }
}

/// Return the number of runnable threads from proc_loadavg(5): `0.20 0.18 0.12 1/80 11206`.
fn runnable(load: &str) -> Option<usize> {
    load.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

/// The share of the allowed real time that the thread leaves unused, in percent. Others can use only a part
/// of short rests, and the kernel guarantees them 5 % of a second (sched-deadline.rst, fair servers).
const SPARE: i64 = 5;

/// The length of a rest.
pub(crate) const REST: Span = Span::from_ns(40_000);

/// The budget of real time: the time awake that a thread has not yet made up for by rests.
///
/// The kernel stops a real-time thread that was awake for 95 % of a second for the rest of it (sched(7),
/// `sched_rt_runtime_us`; -1 disables that). Both threads that must be on time keep this budget: the one that
/// forwards, by the CPU time that it used, and the sender of a probe, by the time between two sleeps, which
/// needs no system call in a loop that spins.
#[derive(Debug)]
pub(crate) struct RealTimeBudget {
    /// The time awake, in ns, that 100 ns of rest make up for; `None` if there is no limit.
    awake_per_100: Option<i64>,
    debt: Span,
}

impl RealTimeBudget {
    /// Build the budget of a thread; without real time there is no limit.
    pub(crate) fn new(realtime: bool) -> Self {
        Self { awake_per_100: realtime.then(awake_per_100).flatten(), debt: Span::ZERO }
    }

    /// Return true if the kernel would stop a thread that never rests.
    pub(crate) fn is_limited(&self) -> bool {
        self.awake_per_100.is_some()
    }

    /// Return the time awake that is not made up for.
    pub(crate) fn debt(&self) -> Span {
        self.debt
    }

    /// Add time awake.
    pub(crate) fn spend(&mut self, awake: Span) {
        self.debt = self.debt + awake;
    }

    /// Make up for time awake by `rested` of rest.
    pub(crate) fn repay(&mut self, rested: Span) {
        self.debt = (self.debt - self.made_up_by(rested)).max(Span::ZERO);
    }

    /// Return the time awake that `rested` of rest make up for.
    fn made_up_by(&self, rested: Span) -> Span {
        rested * self.awake_per_100.unwrap_or(0) / 100
    }

    /// Return the rest that `awake` need, or 0 without a limit.
    #[cfg(test)]
    pub(crate) fn rest_for(&self, awake: Span) -> Span {
        self.awake_per_100.map_or(Span::ZERO, |per_100| awake * 100 / (100 + per_100))
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
    fn a_cpu_that_others_take_now_and_then_is_borne_and_more_is_not() {
        let mut rests = Rests::new(true, 0);
        let mut now = Monotonic::now();
        let mut lose = |after_ns: i64, others: bool| {
            now = now + Span::from_ns(after_ns);
            let preempted = rests.preempted + u64::from(others);
            (rests.lost_to_others(preempted, now, Span::from_ns(1_000_000)), rests.may_ease(now))
        };
        assert_eq!(lose(0, false), (false, true), "a hypervisor took it");
        for _ in 0..20 {
            assert_eq!(lose(1_000_000 * BORNE_OF, true), (true, true), "one part of so many");
        }
        let left = std::iter::repeat_with(|| lose(0, true)).take_while(|&(_, may)| may).count();
        let borne = (BORNE.ns() / 1_000_000) as usize;
        assert!((borne - 2..=borne).contains(&left), "{left} more at once");
        assert_eq!(lose(WARY.start().ns() - 1, false), (false, false));
        assert_eq!(lose(1, false), (false, true), "not for ever");
    }

    #[test]
    fn what_would_run_is_read_of_this_machine() {
        assert_eq!(runnable("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        let here = std::fs::read_to_string("/proc/loadavg").unwrap();
        assert!(runnable(&here).unwrap() >= 1, "{here}");
    }

    #[test]
    fn a_thread_owes_what_it_was_awake_until_it_rests() {
        let mut budget = RealTimeBudget { awake_per_100: Some(900), debt: Span::ZERO };
        budget.spend(Span::from_ns(9_000));
        budget.repay(Span::from_ns(400));
        assert_eq!(budget.debt().ns(), 5_400);
        budget.repay(Span::from_ns(10_000));
        assert_eq!(budget.debt().ns(), 0, "rests are not saved up");
    }

    #[test]
    fn a_thread_without_real_time_has_no_limit() {
        assert!(!RealTimeBudget::new(false).is_limited());
    }
}
