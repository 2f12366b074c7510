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

use delaylab_os::clock::{Monotonic, Span};
use delaylab_os::files::poll;
use delaylab_os::process::scheduling::{self, RealTime};

use super::lateness::CpuNoise;
use crate::protocol::links::CpuNoiseSummary;
use rests::Rests;
pub(crate) use rests::{REST, RealTimeBudget};

/// The real-time priority of the forwarding thread. It outranks the probes (10): a packet sent on time must
/// also be forwarded on time.
const PRIORITY: i32 = 20;
const SHORTEST_SPIN: Span = Span::from_ns(8_000);
const LONGEST_SPIN: Span = Span::from_ns(100_000);
/// The shortest sleep that is worth its system call.
const SHORTEST_GAP: Span = Span::from_ns(1_000);
/// The time before an event for which a thread with CPUs of its own stays awake: a sleep may end late.
const AWAKE: Span = Span::from_ns(5_000_000);
/// The learning step of the usual oversleep: it decreases by one step after each sleep that was not worse,
/// and increases by 19 steps after one that was, so it settles where one of 20 sleeps is worse.
const STEP: Span = Span::from_ns(50);
/// The margin added to the worst oversleep.
const MARGIN: Span = Span::from_ns(2_000);
/// The time without running after which an ordinary thread may have lost its CPU to another one.
const DISTURBED: Span = Span::from_ns(300_000);

/// The waiting state of one thread.
pub(crate) struct Pace {
    realtime: Option<RealTime>,
    rests: Rests,
    cpu_noise: CpuNoise,
    /// The recent oversleep: at worst, and that of 19 of 20 sleeps.
    spin: Span,
    usual: Span,
    /// The time at which the thread was last known to run.
    seen: Monotonic,
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
        let (spin, usual) = (LONGEST_SPIN / 2, LONGEST_SPIN / 5);
        let cpu_noise = CpuNoise::default();
        (Self { realtime, rests, cpu_noise, spin, usual, seen: Monotonic::now() }, why)
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
    /// later than `now` if the thread slept.
    pub(crate) fn keep(&mut self, now: Monotonic) -> io::Result<Monotonic> {
        self.cpu_noise.watch_until(now);
        let passed = now - self.seen;
        self.seen = now;
        let Some(realtime) = &self.realtime else { return Ok(now) };
        let rests = &mut self.rests;
        if rests.is_eased() {
            let lost = passed > DISTURBED && rests.lost_its_cpu(now, passed);
            if (lost || rests.owes_nothing_at(now)) && realtime.resume(PRIORITY).is_ok() {
                rests.end_ease(now);
            }
        } else if rests.are_due_at(now) {
            if rests.may_ease(now) && realtime.suspend().is_ok() {
                rests.begin_ease();
            } else {
                self.sleep(now, REST)?;
            }
        }
        Ok(self.seen)
    }

    /// Wait because nothing is to be done before `next`, or ever for `None`. Sleep, or return at once if
    /// `next` is so near that the caller should spin. Return early if a descriptor is ready, and true if
    /// the second one is.
    pub(crate) fn wait(
        &mut self,
        now: Monotonic,
        next: Option<Monotonic>,
        on: [BorrowedFd<'_>; 2],
    ) -> io::Result<bool> {
        let Some(next) = next else {
            let ready = poll::wait_exactly(on, None)?;
            self.seen = Monotonic::now();
            self.rests.settle(self.seen);
            return Ok(ready[1]);
        };
        if next - now < AWAKE && self.rests.may_be_put_off(now) {
            self.cpu_noise.watch_from(Monotonic::now());
            return Ok(false);
        }
        let wake = next - self.spin;
        if wake <= now {
            let gap = next - self.usual - now;
            if gap > SHORTEST_GAP && self.rests.are_welcome(now) {
                self.sleep(now, gap.min(REST))?;
            }
            self.cpu_noise.watch_from(Monotonic::now());
            return Ok(false);
        }
        let timeout = (wake - now).to_wait();
        let ready = poll::wait_exactly(on, Some(timeout))?;
        let woken = Monotonic::now();
        self.seen = woken;
        self.rests.settle(woken);
        if ready == [false, false] {
            self.learn(woken - wake);
        }
        Ok(ready[1])
    }

    /// Sleep for so long, whatever becomes due meanwhile. Return early, and true, if a descriptor is ready.
    pub(crate) fn nap(&mut self, span: Span, on: BorrowedFd<'_>) -> io::Result<bool> {
        let [ready] = poll::wait_exactly([on], Some(span.to_wait()))?;
        self.seen = Monotonic::now();
        self.rests.settle(self.seen);
        Ok(ready)
    }

    /// Sleep without waking up for any event.
    fn sleep(&mut self, now: Monotonic, span: Span) -> io::Result<()> {
        poll::wait_exactly([], Some(span.to_wait()))?;
        let woken = Monotonic::now();
        self.seen = woken;
        self.rests.settle(woken);
        self.learn((woken - now) - span);
        Ok(())
    }

    /// Learn from a sleep that ended `over` late: later spins cover it, and the effect decays slowly.
    fn learn(&mut self, over: Span) {
        let forgotten = self.spin - self.spin / 1024;
        let spin = (over + MARGIN).max(forgotten);
        self.spin = spin.clamp(SHORTEST_SPIN, LONGEST_SPIN);
        let step = if over > self.usual { STEP * 19 } else { STEP * -1 };
        self.usual = (self.usual + step).clamp(MARGIN, LONGEST_SPIN);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::time::Duration;

    use delaylab_os::files::descriptor;

    use super::*;

    #[test]
    fn what_held_up_a_thread_that_waited_awake_is_told_from_what_it_did_itself() {
        let (mut pace, _) = Pace::new(false, scheduling::own_cpus());
        let (never, _other_end) = descriptor::pipe().unwrap();
        let (held_up, busy) = (Duration::from_millis(4), Duration::from_millis(8));
        let began = Monotonic::now();
        // With something due this soon the thread stays awake.
        assert!(!pace.wait(began, Some(began + Span::from_ns(1_000)), [never.as_fd(); 2]).unwrap());
        std::thread::sleep(held_up);
        pace.keep(Monotonic::now()).unwrap();
        std::thread::sleep(busy);
        pace.keep(Monotonic::now()).unwrap();
        let (cpu_noise, passed_ns) = (pace.cpu_noise(), (Monotonic::now() - began).ns());
        assert!(cpu_noise.held_up_ns >= held_up.as_nanos() as i64, "{cpu_noise:?}");
        assert!(cpu_noise.watched_ns <= passed_ns - busy.as_nanos() as i64, "{cpu_noise:?}");
        // All of it was one interval: a moment in its first hundredth is seen as late as the interval is
        // long.
        assert!(cpu_noise.p99_ns * 100 >= cpu_noise.held_up_ns * 95, "{cpu_noise:?}");
        pace.reset_cpu_noise();
        assert_eq!(pace.cpu_noise(), CpuNoiseSummary::default());
    }

    #[test]
    fn a_nap_lasts_until_its_time_or_a_command() {
        let (mut pace, _) = Pace::new(false, scheduling::own_cpus());
        let (commands, commander) = descriptor::pipe().unwrap();
        let (nap, began) = (Span::from_ns(2_000_000), Monotonic::now());
        assert!(!pace.nap(nap, commands.as_fd()).unwrap());
        assert!(Monotonic::now() - began >= nap);
        descriptor::write_some(commander.as_fd(), &[0]).unwrap();
        assert!(pace.nap(Span::from_ns(i64::from(i32::MAX)), commands.as_fd()).unwrap());
    }

    #[test]
    fn a_thread_that_is_always_awake_rests() {
        // Without real time there is no limit; ordinary users cannot get real time.
        let (mut pace, refused) = Pace::new(true, scheduling::own_cpus());
        if refused.is_some() || !pace.rests.budget().is_limited() {
            return;
        }
        // As if others wanted the CPU.
        pace.rests.be_wary(Monotonic::from_ns(i64::MAX / 2));
        let (began, mut rested) = (Monotonic::now(), Span::ZERO);
        while Monotonic::now() - began < Span::from_ns(300_000_000) {
            let before = Monotonic::now();
            pace.keep(before).unwrap();
            let passed = Monotonic::now() - before;
            // A rest is longer than a call that does nothing.
            rested = rested + if passed >= REST { passed } else { Span::ZERO };
        }
        let wanted = pace.rests.budget().rest_for(Span::from_ns(300_000_000));
        assert!(rested > wanted * 3 / 4, "{rested:?} of {wanted:?}");
    }
}
