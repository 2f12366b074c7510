//! Waiting of a thread that must be on time: when it sleeps, when it spins, and how much real time it takes.
//!
//! A sleep ends some microseconds late, so the thread spends the last microseconds before something is due
//! awake. With CPUs of its own it also stays awake between the frames of a stream. But the kernel stops a
//! real-time thread for tens of milliseconds once it has been awake for 95 % of a second (sched(7),
//! `sched_rt_runtime_us`). This thread rests before that. If nobody else wants the CPU it rests as an
//! ordinary thread, which costs nothing. If somebody does, it sleeps in gaps, if there are any, else for a
//! moment.

mod rests;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use delaylab_os::clock::monotonic_ns;
use delaylab_os::files::poll;
use delaylab_os::process::scheduling::{self, RealTime};

use super::lateness::CpuNoise;
use crate::protocol::links::CpuNoiseSummary;
use rests::Rests;
pub(crate) use rests::{REST_NS, RealTimeBudget};

/// The real-time priority of the forwarding thread. It outranks the probes (10): a packet sent on time must
/// also be forwarded on time.
const PRIORITY: i32 = 20;
const SHORTEST_SPIN_NS: i64 = 8_000;
const LONGEST_SPIN_NS: i64 = 100_000;
/// The shortest sleep that is worth its system call.
const SHORTEST_GAP_NS: i64 = 1_000;
/// The time before an event for which a thread with CPUs of its own stays awake: a sleep may end late.
const AWAKE_NS: i64 = 5_000_000;
/// The learning step of the usual oversleep: it decreases by one step after each sleep that was not worse,
/// and increases by 19 steps after one that was, so it settles where one of 20 sleeps is worse.
const STEP_NS: i64 = 50;
/// The margin added to the worst oversleep.
const MARGIN_NS: i64 = 2_000;
/// The time without running after which an ordinary thread may have lost its CPU to another one.
const DISTURBED_NS: i64 = 300_000;

/// The waiting state of one thread.
pub(crate) struct Pace {
    realtime: Option<RealTime>,
    rests: Rests,
    cpu_noise: CpuNoise,
    /// The recent oversleep: at worst, and that of 19 of 20 sleeps.
    spin_ns: i64,
    usual_ns: i64,
    /// The time at which the thread was last known to run.
    seen_ns: i64,
}

impl Pace {
    /// Set up waiting for the calling thread, which may run on `cpus` CPUs. Also return the reason if real
    /// time was requested and is unavailable.
    pub(crate) fn new(realtime: bool, cpus: usize) -> (Self, Option<String>) {
        // Both improve timing, and neither is required.
        let _ = scheduling::no_timer_slack();
        let _ = scheduling::prefer();
        let (realtime, why) = match realtime.then(|| RealTime::fifo(PRIORITY)) {
            Some(Ok(realtime)) => (Some(realtime), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        let rests = Rests::new(realtime.is_some(), cpus);
        let (spin_ns, usual_ns) = (LONGEST_SPIN_NS / 2, LONGEST_SPIN_NS / 5);
        let cpu_noise = CpuNoise::default();
        (Self { realtime, rests, cpu_noise, spin_ns, usual_ns, seen_ns: monotonic_ns() }, why)
    }

    pub(crate) fn is_realtime(&self) -> bool {
        self.realtime.is_some()
    }

    /// Return the delays that the CPU inflicted on the thread while it waited awake.
    pub(crate) fn cpu_noise(&self) -> CpuNoiseSummary {
        self.cpu_noise.read()
    }

    /// Reset the CPU noise.
    pub(crate) fn reset_cpu_noise(&mut self) {
        self.cpu_noise = CpuNoise::default();
    }

    /// Keep to the real-time limit; call this often while there is something to do. Return the time, which is
    /// later than `now_ns` if the thread slept.
    pub(crate) fn keep(&mut self, now_ns: i64) -> io::Result<i64> {
        self.cpu_noise.watch_until(now_ns);
        let passed_ns = now_ns - self.seen_ns;
        self.seen_ns = now_ns;
        let Some(realtime) = &self.realtime else { return Ok(now_ns) };
        let rests = &mut self.rests;
        if rests.is_eased() {
            let lost = passed_ns > DISTURBED_NS && rests.lost_its_cpu(now_ns, passed_ns);
            if (lost || rests.owes_nothing_at(now_ns)) && realtime.resume(PRIORITY).is_ok() {
                rests.end_ease(now_ns);
            }
        } else if rests.are_due_at(now_ns) {
            if rests.may_ease(now_ns) && realtime.suspend().is_ok() {
                rests.begin_ease();
            } else {
                self.sleep(now_ns, REST_NS)?;
            }
        }
        Ok(self.seen_ns)
    }

    /// Wait because nothing is to be done before `next_ns`, or ever for `None`. Sleep, or return at once if
    /// `next_ns` is so near that the caller should spin. Return early if a descriptor is ready, and true if
    /// the second one is.
    pub(crate) fn wait(
        &mut self,
        now_ns: i64,
        next_ns: Option<i64>,
        on: [BorrowedFd<'_>; 2],
    ) -> io::Result<bool> {
        let Some(next_ns) = next_ns else {
            let ready = poll::wait_exactly(on, None)?;
            self.seen_ns = monotonic_ns();
            self.rests.settle(self.seen_ns);
            return Ok(ready[1]);
        };
        if next_ns - now_ns < AWAKE_NS && self.rests.may_be_put_off(now_ns) {
            self.cpu_noise.watch_from(monotonic_ns());
            return Ok(false);
        }
        let wake_ns = next_ns - self.spin_ns;
        if wake_ns <= now_ns {
            let gap_ns = next_ns - self.usual_ns - now_ns;
            if gap_ns > SHORTEST_GAP_NS && self.rests.are_welcome(now_ns) {
                self.sleep(now_ns, gap_ns.min(REST_NS))?;
            }
            self.cpu_noise.watch_from(monotonic_ns());
            return Ok(false);
        }
        let timeout = Duration::from_nanos((wake_ns - now_ns) as u64);
        let ready = poll::wait_exactly(on, Some(timeout))?;
        let woken_ns = monotonic_ns();
        self.seen_ns = woken_ns;
        self.rests.settle(woken_ns);
        if ready == [false, false] {
            self.learn(woken_ns - wake_ns);
        }
        Ok(ready[1])
    }

    /// Sleep without waking up for any event.
    fn sleep(&mut self, now_ns: i64, for_ns: i64) -> io::Result<()> {
        poll::wait_exactly([], Some(Duration::from_nanos(for_ns as u64)))?;
        let woken_ns = monotonic_ns();
        self.seen_ns = woken_ns;
        self.rests.settle(woken_ns);
        self.learn(woken_ns - now_ns - for_ns);
        Ok(())
    }

    /// Learn from a sleep that ended `over_ns` late: later spins cover it, and the effect decays slowly.
    fn learn(&mut self, over_ns: i64) {
        let forgotten_ns = self.spin_ns - self.spin_ns / 1024;
        let spin_ns = (over_ns + MARGIN_NS).max(forgotten_ns);
        self.spin_ns = spin_ns.clamp(SHORTEST_SPIN_NS, LONGEST_SPIN_NS);
        let step_ns = if over_ns > self.usual_ns { 19 * STEP_NS } else { -STEP_NS };
        self.usual_ns = (self.usual_ns + step_ns).clamp(MARGIN_NS, LONGEST_SPIN_NS);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use delaylab_os::files::descriptor;

    use super::*;

    #[test]
    fn what_held_up_a_thread_that_waited_awake_is_told_from_what_it_did_itself() {
        let (mut pace, _) = Pace::new(false, scheduling::own_cpus());
        let (never, _other_end) = descriptor::pipe().unwrap();
        let (held_up, busy) = (Duration::from_millis(4), Duration::from_millis(8));
        let began_ns = monotonic_ns();
        // With something due this soon the thread stays awake.
        assert!(!pace.wait(began_ns, Some(began_ns + 1_000), [never.as_fd(); 2]).unwrap());
        std::thread::sleep(held_up);
        pace.keep(monotonic_ns()).unwrap();
        std::thread::sleep(busy);
        pace.keep(monotonic_ns()).unwrap();
        let (cpu_noise, passed_ns) = (pace.cpu_noise(), monotonic_ns() - began_ns);
        assert!(cpu_noise.held_up_ns >= held_up.as_nanos() as i64, "{cpu_noise:?}");
        assert!(cpu_noise.watched_ns <= passed_ns - busy.as_nanos() as i64, "{cpu_noise:?}");
        // All of it was one interval: a moment in its first hundredth is seen as late as the interval is
        // long.
        assert!(cpu_noise.p99_ns * 100 >= cpu_noise.held_up_ns * 95, "{cpu_noise:?}");
        pace.reset_cpu_noise();
        assert_eq!(pace.cpu_noise(), CpuNoiseSummary::default());
    }

    #[test]
    fn a_thread_that_is_always_awake_rests() {
        // Without real time there is no limit; ordinary users cannot get real time.
        let (mut pace, refused) = Pace::new(true, scheduling::own_cpus());
        if refused.is_some() || !pace.rests.budget().is_limited() {
            return;
        }
        // As if others wanted the CPU.
        pace.rests.be_wary(i64::MAX / 2);
        let (began_ns, mut rested_ns) = (monotonic_ns(), 0);
        while monotonic_ns() - began_ns < 300_000_000 {
            let before_ns = monotonic_ns();
            pace.keep(before_ns).unwrap();
            let passed_ns = monotonic_ns() - before_ns;
            // A rest is longer than a call that does nothing.
            rested_ns += if passed_ns >= REST_NS { passed_ns } else { 0 };
        }
        let wanted_ns = pace.rests.budget().rest_for(300_000_000);
        assert!(rested_ns > wanted_ns * 3 / 4, "{rested_ns} ns of {wanted_ns}");
    }
}
