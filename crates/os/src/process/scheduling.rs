//! Scheduling: priorities, real time and CPUs.

use std::fs;
use std::io;
use std::num::NonZero;

use nix::sched::CpuSet;
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;

/// Convert the result of a system call: 0, or -1 for an error.
fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Let this thread's timers fire at once instead of up to 50 µs late (`prctl(2)`, `PR_SET_TIMERSLACK`).
pub fn no_timer_slack() -> io::Result<()> {
    // SAFETY: this option takes one integer and touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) })
}

/// Real-time scheduling of the calling thread, which ends on drop.
#[derive(Debug)]
pub struct RealTime(());

impl RealTime {
    /// Switch the calling thread to `SCHED_FIFO` at a priority of 1 to 99, not inherited by children
    /// (`sched_setscheduler(2)`). Fails without `CAP_SYS_NICE` or an `RLIMIT_RTPRIO`, and in a cgroup without
    /// a real-time budget.
    pub fn fifo(priority: i32) -> io::Result<Self> {
        set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)?;
        Ok(Self(()))
    }

    /// Continue as an ordinary thread until [`Self::resume`]. This time does not count against the share of a
    /// CPU that the kernel grants to real-time threads (sched(7), `sched_rt_runtime_us`).
    pub fn suspend(&self) -> io::Result<()> {
        set_policy(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
    }

    /// Continue as a real-time thread at the given priority, 1 to 99.
    pub fn resume(&self, priority: i32) -> io::Result<()> {
        set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        // Leaving real time needs no privilege, but clearing the reset-on-fork flag does, so it stays set.
        let _ = set_policy(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0);
    }
}

/// Give the calling thread the highest priority of all ordinary threads (nice -20). Fails without
/// `CAP_SYS_NICE`.
pub fn prefer() -> io::Result<()> {
    // SAFETY: takes integers; 0 is the calling thread.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) })
}

/// Set the calling thread's policy and, for a real-time policy, its priority.
fn set_policy(policy: i32, priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: `parameter` lives through the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) })
}

/// Return how often the calling thread was preempted (`getrusage(2)`, `ru_nivcsw`).
#[must_use]
pub fn preemptions() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    usage.map_or(0, |usage| usage.involuntary_context_switches().unsigned_abs())
}

/// Return the number of CPUs of the machine that are online.
#[must_use]
pub fn online_cpus() -> usize {
    // SAFETY: takes an integer.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}

/// Return the number of CPUs that the calling thread may run on.
#[must_use]
pub fn own_cpus() -> usize {
    std::thread::available_parallelism().map_or_else(|_| online_cpus(), NonZero::get)
}

/// Return the CPUs that the calling thread may run on, by their numbers (sched_getaffinity(2)).
pub fn usable_cpus() -> io::Result<Vec<usize>> {
    let set = nix::sched::sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect())
}

/// Return the share of a CPU that the kernel grants to real-time threads, in percent; `None` if it sets no
/// limit (sched(7), `sched_rt_runtime_us`). Falls back to the kernel's default of 95 if it cannot be read.
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

/// Restrict the calling thread, and all that it starts later, to these CPUs (sched_setaffinity(2)). Fails
/// with `EINVAL` if none of them is online.
pub fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    set_thread_affinity(0, cpus)
}

/// Restrict one thread, by its id, to these CPUs. Fails with `EINVAL` if none of them is online, and with
/// `ESRCH` if there is no such thread.
pub fn set_thread_affinity(thread: i32, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(nix::sched::sched_setaffinity(Pid::from_raw(thread), &set)?)
}
