//! How the kernel schedules the calling thread.

use std::fs;
use std::io;
use std::num::NonZero;

use nix::sys::resource::{UsageWho, getrusage};

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets timers of this thread fire at once instead of up to 50 µs late (`prctl(2)`,
/// `PR_SET_TIMERSLACK`).
pub fn no_timer_slack() -> io::Result<()> {
    // SAFETY: this option takes one integer and touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) })
}

/// Real-time scheduling of the calling thread, until dropped.
#[derive(Debug)]
pub struct RealTime(());

impl RealTime {
    /// `SCHED_FIFO` at the given priority (1 to 99), not inherited by children
    /// (`sched_setscheduler(2)`). Fails without `CAP_SYS_NICE` or an `RLIMIT_RTPRIO`, and in a
    /// cgroup without a real-time budget.
    pub fn fifo(priority: i32) -> io::Result<Self> {
        set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)?;
        Ok(Self(()))
    }

    /// Goes on as an ordinary thread until [`Self::resume`]: such time does not count against the
    /// share of a CPU that the kernel leaves to real time (sched(7), `sched_rt_runtime_us`).
    pub fn suspend(&self) -> io::Result<()> {
        set_policy(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
    }

    /// Goes on in real time, at the given priority.
    pub fn resume(&self, priority: i32) -> io::Result<()> {
        set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        // Leaving real time needs no privilege; the flag may only be cleared with one, so keep it.
        let _ = set_policy(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0);
    }
}

/// Puts the calling thread before all other ordinary ones (nice -20). Fails without `CAP_SYS_NICE`.
pub fn prefer() -> io::Result<()> {
    // SAFETY: takes integers; 0 is the calling thread.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) })
}

fn set_policy(policy: i32, priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: `parameter` lives through the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) })
}

/// How often the calling thread had to leave its CPU to another one (`getrusage(2)`, `ru_nivcsw`).
#[must_use]
pub fn preemptions() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    usage.map_or(0, |usage| usage.involuntary_context_switches().unsigned_abs())
}

/// How many CPUs the machine has.
#[must_use]
pub fn online_cpus() -> usize {
    // SAFETY: takes an integer.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}

/// How many CPUs the calling thread is kept to.
#[must_use]
pub fn own_cpus() -> usize {
    std::thread::available_parallelism().map_or_else(|_| online_cpus(), NonZero::get)
}

/// How much of a CPU the kernel leaves to real time, in percent; `None` without a limit (sched(7),
/// `sched_rt_runtime_us`). Where it does not say, the kernel's default.
#[must_use]
pub fn realtime_percent() -> Option<i64> {
    let read = |name: &str| -> Option<i64> {
        fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
    };
    match (read("sched_rt_runtime_us"), read("sched_rt_period_us")) {
        (Some(-1), _) => None,
        (Some(runtime), Some(period)) if period > 0 => Some(runtime * 100 / period),
        _ => Some(95),
    }
}

/// The process's memory kept from being paged out, until dropped.
#[derive(Debug)]
pub struct Locked(());

impl Locked {
    /// Locks what is mapped now (`mlockall(2)`, `MCL_CURRENT`); what is mapped later is not, so
    /// that a limit on locked memory never makes an allocation fail.
    pub fn current() -> io::Result<Self> {
        // SAFETY: takes flags only.
        check(unsafe { libc::mlockall(libc::MCL_CURRENT) })?;
        Ok(Self(()))
    }

    /// Locks the pages of what is mapped now, each from its first use on (`MCL_ONFAULT`).
    pub fn as_used() -> io::Result<Self> {
        // SAFETY: takes flags only.
        check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT) })?;
        Ok(Self(()))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: takes nothing.
        unsafe { libc::munlockall() };
    }
}
