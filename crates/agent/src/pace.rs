//! When a thread that must be on time sleeps and when it spins, and how much real time it takes.
//!
//! A sleep ends some microseconds late; the last of them before something is due are therefore spent
//! awake. But the kernel stops a thread in real time for tens of milliseconds once it has been awake
//! for 95 % of a second (sched(7), `sched_rt_runtime_us`). Short of that this one rests: in gaps, if there
//! are any; else as an ordinary thread, which costs nothing on a CPU that nobody else wants;
//! and where somebody does, in short sleeps.

use std::fs::{self, File};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use delaylab_os::clock::monotonic_ns;
use delaylab_os::poll;
use delaylab_os::sched::{self, RealTime};

/// Above probes (10): who sends at the right time is of no use while nobody forwards.
const PRIORITY: i32 = 20;
/// What is left to others of the real time that the kernel allows, in percent. Of short rests
/// they can use only a part, and the kernel sees to it that they have 5 % of a second (sched-deadline.rst, fair servers).
const SPARE: i64 = 15;
/// How far the thread may be awake ahead of its rests; half of it may be made up at leisure.
const DEBT_NS: i64 = 10_000_000;
/// A rest that cannot wait for a gap.
const REST_NS: i64 = 40_000;
const SHORTEST_SPIN_NS: i64 = 8_000;
const LONGEST_SPIN_NS: i64 = 60_000;
/// What a sleep that ended late is expected to be worse than, next time.
const MARGIN_NS: i64 = 2_000;
/// An ordinary thread that has not run for so long has lost its CPU to another one.
const DISTURBED_NS: i64 = 300_000;
/// For how long it then does not try to be one, at first; each time twice as long.
const WARY_NS: std::ops::RangeInclusive<i64> = 1_000_000_000..=64_000_000_000;

/// How one thread waits.
pub struct Pace {
    realtime: Option<RealTime>,
    rests: Rests,
    /// What sleeps have overslept lately: at worst, and usually.
    spin_ns: i64,
    usual_ns: i64,
    /// When the thread was last known to run.
    seen_ns: i64,
}

/// What is known of the rests that the kernel wants.
struct Rests {
    /// So many ns awake are made up for by 100 asleep; `None` if there is no limit.
    awake_per_100: Option<i64>,
    debt_ns: i64,
    /// An ordinary thread for now.
    eased: bool,
    wary_ns: i64,
    wary_until_ns: i64,
    /// Tells how many threads would run now, on how many CPUs.
    load: Option<File>,
    cpus: usize,
}

impl Pace {
    /// For the calling thread; with the reason if real time was wanted and cannot be had.
    pub fn new(realtime: bool) -> (Self, Option<String>) {
        // Both are worth having and can be done without.
        let _ = sched::no_timer_slack();
        let _ = sched::prefer();
        let (realtime, why) = match realtime.then(|| RealTime::fifo(PRIORITY)) {
            Some(Ok(realtime)) => (Some(realtime), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        let rests = Rests {
            awake_per_100: realtime.is_some().then(awake_per_100).flatten(),
            debt_ns: 0,
            eased: false,
            wary_ns: *WARY_NS.start(),
            wary_until_ns: 0,
            load: File::open("/proc/loadavg").ok(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        };
        let (spin_ns, usual_ns) = (LONGEST_SPIN_NS / 2, LONGEST_SPIN_NS / 4);
        (Self { realtime, rests, spin_ns, usual_ns, seen_ns: monotonic_ns() }, why)
    }

    pub fn is_realtime(&self) -> bool {
        self.realtime.is_some()
    }

    /// To be called often while there is something to do: keeps to the limit.
    pub fn keep(&mut self, now_ns: i64) -> io::Result<()> {
        let passed_ns = now_ns - self.seen_ns;
        self.seen_ns = now_ns;
        let (Some(realtime), Some(awake_per_100)) = (&self.realtime, self.rests.awake_per_100)
        else {
            return Ok(());
        };
        let rests = &mut self.rests;
        if !rests.eased {
            rests.debt_ns += passed_ns;
            if rests.debt_ns < DEBT_NS {
                return Ok(());
            }
            if now_ns < rests.wary_until_ns || rests.is_crowded() {
                return self.sleep(now_ns, REST_NS);
            }
            rests.eased = realtime.suspend().is_ok();
            return Ok(());
        }
        rests.debt_ns -= passed_ns * awake_per_100 / 100;
        let disturbed = passed_ns > DISTURBED_NS;
        if disturbed {
            rests.wary_until_ns = now_ns + rests.wary_ns;
            rests.wary_ns = (rests.wary_ns * 2).min(*WARY_NS.end());
        }
        if (disturbed || rests.debt_ns <= 0) && realtime.resume(PRIORITY).is_ok() {
            rests.eased = false;
            rests.debt_ns = rests.debt_ns.max(0);
        }
        Ok(())
    }

    /// Nothing is to be done before `next_ns`, `None` for ever: sleeps, unless that is so soon that it
    /// is better awaited awake. Ends when one of the descriptors is ready; says whether the second is.
    pub fn wait(
        &mut self,
        now_ns: i64,
        next_ns: Option<i64>,
        on: [BorrowedFd<'_>; 2],
    ) -> io::Result<bool> {
        let Some(next_ns) = next_ns else {
            let ready = poll::wait_exactly(on, None)?;
            self.slept(now_ns, monotonic_ns());
            return Ok(ready[1]);
        };
        let wake_ns = next_ns - self.spin_ns;
        if wake_ns <= now_ns {
            let gap_ns = next_ns - self.usual_ns - now_ns;
            if self.rests.debt_ns > DEBT_NS / 2 && !self.rests.eased && gap_ns > self.usual_ns {
                self.sleep(now_ns, gap_ns.min(REST_NS))?;
            }
            return Ok(false);
        }
        let timeout = Duration::from_nanos((wake_ns - now_ns) as u64);
        let ready = poll::wait_exactly(on, Some(timeout))?;
        let woken_ns = monotonic_ns();
        self.slept(now_ns, woken_ns);
        if ready == [false, false] {
            self.learn(woken_ns - wake_ns);
        }
        Ok(ready[1])
    }

    /// Sleeps whatever comes meanwhile.
    fn sleep(&mut self, now_ns: i64, for_ns: i64) -> io::Result<()> {
        poll::wait_exactly([], Some(Duration::from_nanos(for_ns as u64)))?;
        let woken_ns = monotonic_ns();
        self.slept(now_ns, woken_ns);
        self.learn(woken_ns - now_ns - for_ns);
        Ok(())
    }

    fn slept(&mut self, from_ns: i64, until_ns: i64) {
        let awake_per_100 = self.rests.awake_per_100.unwrap_or(0);
        let debt_ns = self.rests.debt_ns + (from_ns - self.seen_ns);
        self.rests.debt_ns = (debt_ns - (until_ns - from_ns) * awake_per_100 / 100).max(0);
        self.seen_ns = until_ns;
    }

    /// A sleep ended so much too late: what is spun from now on covers it, and forgets it slowly.
    fn learn(&mut self, over_ns: i64) {
        let forgotten_ns = self.spin_ns - self.spin_ns / 256;
        let spin_ns = (over_ns + MARGIN_NS).max(forgotten_ns);
        self.spin_ns = spin_ns.clamp(SHORTEST_SPIN_NS, LONGEST_SPIN_NS);
        let usual_ns = self.usual_ns + (over_ns - self.usual_ns) / 16;
        self.usual_ns = usual_ns.clamp(MARGIN_NS, LONGEST_SPIN_NS);
    }
}

impl Rests {
    /// Whether more threads want to run than there are CPUs: then an ordinary one would lose its own.
    fn is_crowded(&self) -> bool {
        let runnable = || -> Option<usize> {
            let mut text = [0; 64];
            let length = self.load.as_ref()?.read_at(&mut text, 0).ok()?;
            runnable(std::str::from_utf8(text.get(..length)?).ok()?)
        };
        runnable().is_none_or(|runnable| runnable > self.cpus)
    }
}

/// The number of threads that run or would, of proc_loadavg(5): `0.20 0.18 0.12 1/80 11206`.
fn runnable(load: &str) -> Option<usize> {
    load.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

/// From what the kernel leaves to real time, less what is spared.
fn awake_per_100() -> Option<i64> {
    let read = |name: &str| -> Option<i64> {
        fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
    };
    let share = match (read("sched_rt_runtime_us"), read("sched_rt_period_us")) {
        (Some(-1), _) => return None,
        (Some(runtime), Some(period)) if period > 0 => runtime * 100 / period - SPARE,
        // The kernel's default is 95 %.
        _ => 95 - SPARE,
    };
    let share = share.clamp(1, 99);
    Some(share * 100 / (100 - share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_run_is_read_of_this_machine() {
        assert_eq!(runnable("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        let here = fs::read_to_string("/proc/loadavg").unwrap();
        assert!(runnable(&here).unwrap() >= 1, "{here}");
    }

    #[test]
    fn a_thread_that_is_always_awake_rests() {
        // Without real time there is nothing to keep to; with it, this is refused to ordinary users.
        let (mut pace, refused) = Pace::new(true);
        if refused.is_some() || pace.rests.awake_per_100.is_none() {
            return;
        }
        // As where others want the CPU.
        pace.rests.wary_until_ns = i64::MAX;
        let (began_ns, mut rested_ns) = (monotonic_ns(), 0);
        while monotonic_ns() - began_ns < 300_000_000 {
            let before_ns = monotonic_ns();
            pace.keep(before_ns).unwrap();
            let passed_ns = monotonic_ns() - before_ns;
            // A rest is longer than a call that does nothing.
            rested_ns += if passed_ns >= REST_NS { passed_ns } else { 0 };
        }
        let wanted_ns = 300_000_000 * 100 / (100 + pace.rests.awake_per_100.unwrap());
        assert!(rested_ns > wanted_ns * 3 / 4, "{rested_ns} ns of {wanted_ns}");
    }
}
