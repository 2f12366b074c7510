//! How much a thread in real time must rest, and how it has.

use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;

use delaylab_os::clock::{monotonic_ns, thread_cpu_ns};
use delaylab_os::sched;

/// What is left to others of the real time that the kernel allows, in percent. Of short rests
/// they can use only a part, and the kernel sees to it that they have 5 % of a second (sched-deadline.rst, fair servers).
const SPARE: i64 = 5;
/// How far the thread may be awake ahead of its rests; half of it may be made up at leisure.
const DEBT_NS: i64 = 30_000_000;
/// How often it is looked whether others want the CPU.
const LOOK_NS: i64 = 1_000_000;
/// For how long a thread that lost its CPU too often as an ordinary one does not try to be one again: at
/// first, and at most; each time twice as long.
const WARY_NS: RangeInclusive<i64> = 8_000_000_000..=64_000_000_000;
/// What others may take of the CPU before that is too often: so much at once, as threads of the kernel
/// that nobody can move need it now and then, and one of so many ns all the time. Other rests make more
/// frames late than that, and such a thread has its time in them, too.
const BORNE_NS: i64 = 30_000_000;
const BORNE_OF: i64 = 200;

/// What is known of the rests that the kernel wants.
pub struct Rests {
    /// So many ns awake are made up for by 100 asleep; `None` if there is no limit.
    awake_per_100: Option<i64>,
    /// As of `settled_ns`, when the thread had had a CPU for `cpu_ns`.
    debt_ns: i64,
    settled_ns: i64,
    cpu_ns: i64,
    /// An ordinary thread for now.
    eased: bool,
    wary_ns: i64,
    wary_until_ns: i64,
    /// How often others had the CPU so far.
    preempted: u64,
    /// What they took of it, less what is borne, as of `lost_at_ns`.
    lost_ns: i64,
    lost_at_ns: i64,
    own_cpus: bool,
    /// Tells how many threads would run now; not asked where a thread has CPUs of its own.
    load: Option<File>,
    crowded: bool,
    crowded_at_ns: i64,
}

impl Rests {
    /// For a thread that is kept to so many CPUs; without real time it needs none.
    pub fn new(realtime: bool, cpus: usize) -> Self {
        // Who is kept to some has them for its own.
        let own_cpus = realtime && cpus < sched::online_cpus();
        Self {
            awake_per_100: realtime.then(awake_per_100).flatten(),
            debt_ns: 0,
            settled_ns: monotonic_ns(),
            cpu_ns: thread_cpu_ns(),
            eased: false,
            wary_ns: *WARY_NS.start(),
            wary_until_ns: 0,
            preempted: 0,
            lost_ns: 0,
            lost_at_ns: monotonic_ns(),
            own_cpus,
            load: (!own_cpus).then(|| File::open("/proc/loadavg").ok()).flatten(),
            crowded: false,
            crowded_at_ns: i64::MIN / 2,
        }
    }

    /// How many ns awake are made up for by 100 asleep; `None` if there is no limit.
    #[cfg(test)]
    pub fn awake_per_100(&self) -> Option<i64> {
        self.awake_per_100
    }

    /// Takes in the time since the last look. What counts is not for how long a sleep was but for how
    /// long others had the CPU: of a short one, much is the kernel's work for this thread.
    pub fn settle(&mut self, now_ns: i64) {
        let Some(awake_per_100) = self.awake_per_100.filter(|_| !self.eased) else { return };
        let cpu_ns = thread_cpu_ns();
        let awake_ns = cpu_ns - self.cpu_ns;
        let asleep_ns = now_ns - self.settled_ns - awake_ns;
        self.debt_ns = (self.debt_ns + awake_ns - asleep_ns * awake_per_100 / 100).max(0);
        (self.settled_ns, self.cpu_ns) = (now_ns, cpu_ns);
    }

    /// Whether one cannot be put off any longer.
    pub fn are_due_at(&mut self, now_ns: i64) -> bool {
        if self.awake_per_100.is_some() && self.debt_ns + now_ns - self.settled_ns >= DEBT_NS {
            self.settle(now_ns);
        }
        self.debt_ns >= DEBT_NS
    }

    /// Whether a thread with CPUs of its own can stay awake: it will rest as an ordinary one.
    pub fn may_be_put_off(&mut self, now_ns: i64) -> bool {
        self.own_cpus && self.may_ease(now_ns)
    }

    /// Whether it is time to use gaps. A sleep in one may end late, so this is for a thread only that
    /// cannot rest as an ordinary one.
    pub fn are_welcome(&mut self, now_ns: i64) -> bool {
        self.debt_ns > DEBT_NS / 2 && !self.eased && !self.may_ease(now_ns)
    }

    /// Whether the thread has been an ordinary one for long enough.
    pub fn owes_nothing_at(&self, now_ns: i64) -> bool {
        let awake_per_100 = self.awake_per_100.unwrap_or(0);
        (now_ns - self.settled_ns) * awake_per_100 / 100 >= self.debt_ns
    }

    pub fn is_eased(&self) -> bool {
        self.eased
    }

    /// Whether the thread may be an ordinary one: nobody else seems to want its CPU.
    pub fn may_ease(&mut self, now_ns: i64) -> bool {
        if now_ns >= self.crowded_at_ns + LOOK_NS {
            self.crowded_at_ns = now_ns;
            self.crowded = self.is_crowded();
        }
        now_ns >= self.wary_until_ns && !self.crowded
    }

    /// The thread has become an ordinary one.
    pub fn begin_ease(&mut self) {
        self.eased = true;
        self.preempted = sched::preemptions();
    }

    /// As an ordinary one it has not run for so long. Whether others had its CPU; what the machine under a
    /// virtual one took, it would have taken of a thread in real time, too.
    pub fn lost_its_cpu(&mut self, now_ns: i64, for_ns: i64) -> bool {
        self.lost_to_others(sched::preemptions(), now_ns, for_ns)
    }

    fn lost_to_others(&mut self, preempted: u64, now_ns: i64, for_ns: i64) -> bool {
        if preempted == self.preempted {
            return false;
        }
        let borne_ns = (now_ns - self.lost_at_ns) / BORNE_OF;
        self.lost_ns = (self.lost_ns - borne_ns).max(0) + for_ns;
        (self.preempted, self.lost_at_ns) = (preempted, now_ns);
        if self.lost_ns > BORNE_NS {
            self.be_wary(now_ns);
        }
        true
    }

    /// For some time it will not be an ordinary one.
    pub fn be_wary(&mut self, now_ns: i64) {
        self.wary_until_ns = now_ns + self.wary_ns;
        self.wary_ns = (self.wary_ns * 2).min(*WARY_NS.end());
        self.lost_ns = 0;
    }

    /// The thread is in real time again.
    pub fn end_ease(&mut self, now_ns: i64) {
        let awake_per_100 = self.awake_per_100.unwrap_or(0);
        self.debt_ns = (self.debt_ns - (now_ns - self.settled_ns) * awake_per_100 / 100).max(0);
        (self.settled_ns, self.cpu_ns, self.eased) = (now_ns, thread_cpu_ns(), false);
    }

    /// Whether more threads want to run than there are CPUs: then an ordinary one would lose its own.
    fn is_crowded(&self) -> bool {
        let Some(load) = &self.load else { return false };
        let runnable = || -> Option<usize> {
            let mut text = [0; 64];
            let length = load.read_at(&mut text, 0).ok()?;
            runnable(std::str::from_utf8(text.get(..length)?).ok()?)
        };
        runnable().is_none_or(|runnable| runnable > sched::online_cpus())
    }
}

/// The number of threads that run or would, of proc_loadavg(5): `0.20 0.18 0.12 1/80 11206`.
fn runnable(load: &str) -> Option<usize> {
    load.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

/// From what the kernel leaves to real time, less what is spared.
fn awake_per_100() -> Option<i64> {
    let share = (sched::realtime_percent()? - SPARE).clamp(1, 99);
    Some(share * 100 / (100 - share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_others_take_now_and_then_is_borne_and_more_is_not() {
        let mut rests = Rests::new(true, 0);
        let mut now_ns = monotonic_ns();
        let mut lose = |after_ns: i64, others: bool| {
            now_ns += after_ns;
            let preempted = rests.preempted + u64::from(others);
            (rests.lost_to_others(preempted, now_ns, 1_000_000), rests.may_ease(now_ns))
        };
        assert_eq!(lose(0, false), (false, true), "a hypervisor took it");
        for _ in 0..20 {
            assert_eq!(lose(1_000_000 * BORNE_OF, true), (true, true), "one part of so many");
        }
        let left = std::iter::repeat_with(|| lose(0, true)).take_while(|&(_, may)| may).count();
        let borne = (BORNE_NS / 1_000_000) as usize;
        assert!((borne - 2..=borne).contains(&left), "{left} more at once");
        assert_eq!(lose(WARY_NS.start() - 1, false), (false, false));
        assert_eq!(lose(1, false), (false, true), "not for ever");
    }

    #[test]
    fn what_would_run_is_read_of_this_machine() {
        assert_eq!(runnable("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        let here = std::fs::read_to_string("/proc/loadavg").unwrap();
        assert!(runnable(&here).unwrap() >= 1, "{here}");
    }
}
