//! When the engine sleeps and when it spins, and how much real time it takes.
//!
//! A sleep ends some microseconds late; the last of them before something is due are therefore spent
//! awake. A thread in real time that is awake for longer than the kernel lets it be is stopped for tens
//! of milliseconds (sched(7), `sched_rt_runtime_us`): short of that it goes on as an ordinary thread
//! for the rest of each period.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use delaylab_os::clock::monotonic_ns;
use delaylab_os::poll;
use delaylab_os::sched::{self, RealTime};

/// Above probes (10): who sends at the right time is of no use while nobody forwards.
const PRIORITY: i32 = 20;
const PERIOD_NS: i64 = 20_000_000;
/// What is left to others of the real time that the kernel allows, in percent.
const SPARE: i64 = 10;
const SHORTEST_SPIN_NS: i64 = 8_000;
const LONGEST_SPIN_NS: i64 = 60_000;
/// What a sleep that ended late is expected to be worse than, next time.
const MARGIN_NS: i64 = 2_000;

/// How one thread waits.
pub struct Pace {
    realtime: Option<RealTime>,
    /// How long it may be awake in real time in each period.
    budget_ns: i64,
    eased: bool,
    began_ns: i64,
    slept_ns: i64,
    spin_ns: i64,
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
        let budget_ns = if realtime.is_some() { budget_ns() } else { i64::MAX };
        let pace = Self {
            realtime,
            budget_ns,
            eased: false,
            began_ns: monotonic_ns(),
            slept_ns: 0,
            spin_ns: LONGEST_SPIN_NS / 2,
        };
        (pace, why)
    }

    pub fn is_realtime(&self) -> bool {
        self.realtime.is_some()
    }

    /// To be called often: keeps to the budget.
    pub fn keep(&mut self, now_ns: i64) {
        let Some(realtime) = &self.realtime else { return };
        let passed_ns = now_ns - self.began_ns;
        if passed_ns >= PERIOD_NS {
            // What is refused now was allowed before: tried again in the next period.
            if self.eased && realtime.resume(PRIORITY).is_ok() {
                self.eased = false;
            }
            (self.began_ns, self.slept_ns) = (now_ns, 0);
        } else if !self.eased && passed_ns - self.slept_ns >= self.budget_ns {
            self.eased = realtime.suspend().is_ok();
        }
    }

    /// Nothing is to be done before `next_ns`, `None` for ever: sleeps, unless that is so soon that it
    /// is better awaited awake. Ends when one of the descriptors is ready; says whether the second is.
    pub fn wait(
        &mut self,
        now_ns: i64,
        next_ns: Option<i64>,
        on: [BorrowedFd<'_>; 2],
    ) -> io::Result<bool> {
        let wake_ns = next_ns.map(|next_ns| next_ns - self.spin_ns);
        if wake_ns.is_some_and(|wake_ns| wake_ns <= now_ns) {
            return Ok(false);
        }
        let timeout = wake_ns.map(|wake_ns| Duration::from_nanos((wake_ns - now_ns) as u64));
        let ready = poll::wait_exactly(on, timeout)?;
        let woken_ns = monotonic_ns();
        self.slept_ns += woken_ns - now_ns;
        if let (Some(wake_ns), [false, false]) = (wake_ns, ready) {
            self.learn(woken_ns - wake_ns);
        }
        Ok(ready[1])
    }

    /// A sleep ended so much too late: what is spun from now on covers it, and forgets it slowly.
    fn learn(&mut self, over_ns: i64) {
        let forgotten = self.spin_ns - self.spin_ns / 256;
        self.spin_ns =
            (over_ns + MARGIN_NS).max(forgotten).clamp(SHORTEST_SPIN_NS, LONGEST_SPIN_NS);
    }
}

/// Of a period, what the kernel leaves to real time less what is spared; all of it where it sets no limit.
fn budget_ns() -> i64 {
    let read = |name: &str| -> Option<i64> {
        fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
    };
    match (read("sched_rt_runtime_us"), read("sched_rt_period_us")) {
        (Some(-1), _) => i64::MAX,
        (Some(runtime), Some(period)) if period > 0 => {
            PERIOD_NS * (runtime * 100 / period - SPARE).max(0) / 100
        }
        // The kernel's default is 95 %.
        _ => PERIOD_NS * (95 - SPARE) / 100,
    }
}
