//! This kernel's clocks: `CLOCK_REALTIME`, which all stamps are taken on, and others (clock_gettime(2)).

use std::io;

/// Return the time of `CLOCK_REALTIME`, in ns since the Unix epoch: the clock of the kernel's software
/// stamps. Makes no system call where the vDSO serves it.
#[must_use]
pub fn realtime_ns() -> i64 {
    time_ns(libc::CLOCK_REALTIME)
}

/// Return the time of `CLOCK_MONOTONIC` in ns. Setting the clock does not affect it: use it for intervals and
/// deadlines.
#[must_use]
pub fn monotonic_ns() -> i64 {
    time_ns(libc::CLOCK_MONOTONIC)
}

/// Return the current offset of `CLOCK_REALTIME`, the clock of all stamps, from `CLOCK_MONOTONIC`, in ns.
#[must_use]
pub fn epoch_ahead_ns() -> i64 {
    realtime_ns() - monotonic_ns()
}

/// A reading of the offset of `CLOCK_REALTIME` from `CLOCK_MONOTONIC`, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochAhead {
    /// The offset.
    pub ns: i64,
    /// The most that the true offset may differ from it.
    pub within_ns: i64,
}

/// Read the offset of `CLOCK_REALTIME` from `CLOCK_MONOTONIC` as exactly as can be: each of several readings lies
/// between two of the other clock, and the offset in all of these intervals.
#[must_use]
pub fn epoch_ahead() -> EpochAhead {
    const READINGS: usize = 16;
    let (mut least, mut most) = (i64::MIN, i64::MAX);
    for _ in 0..READINGS {
        let (before, epoch, after) = (monotonic_ns(), realtime_ns(), monotonic_ns());
        let (low, high) = (epoch - after, epoch - before);
        // The clock was set meanwhile: only the later readings count.
        if low > most || high < least {
            (least, most) = (low, high);
        }
        (least, most) = (least.max(low), most.min(high));
    }
    EpochAhead { ns: least + (most - least) / 2, within_ns: (most - least) / 2 + 1 }
}

/// Return the CPU time that the calling thread has used, in ns. Makes a system call.
#[must_use]
pub fn thread_cpu_ns() -> i64 {
    time_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Return the time of one of the clocks that every Linux has, in ns.
fn time_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; the callers' clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Return the offset of `CLOCK_TAI` from `CLOCK_REALTIME`, in ns: whole leap seconds, or 0 if nobody has told
/// the kernel (adjtimex(2)).
pub fn tai_ahead_ns() -> io::Result<i64> {
    // SAFETY: all zeros is a valid timex, which asks for no change.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `state` is a valid place for the answer.
    if unsafe { libc::adjtimex(&raw mut state) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(i64::from(state.tai) * 1_000_000_000)
}

/// Return the name of this kernel's clock: `realtime@` and the first 8 digits of the boot id. Two stamps have
/// the same clock name exactly if one kernel took both. Fails if `/proc` is not mounted.
pub fn name() -> io::Result<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(format!("realtime@{}", boot.get(..8).unwrap_or(boot.trim())))
}
