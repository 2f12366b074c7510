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

/// A time of `CLOCK_REALTIME`, the clock of all stamps. It jumps when somebody sets the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Realtime(i64);

/// A time of `CLOCK_MONOTONIC`, which nobody sets.
///
/// Times of two clocks cannot be mixed; [`EpochOffset`] converts them.
/// ```compile_fail,E0308
/// use delaylab_os::clock::{Monotonic, Realtime};
/// let mixed_ns = Monotonic::now() - Realtime::now();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monotonic(i64);

macro_rules! times {
    ($($time:ident, $read:ident;)*) => {$(
        impl $time {
            /// Read the clock.
            #[must_use]
            pub fn now() -> Self {
                Self($read())
            }

            /// Build a time of this clock from its ns.
            #[must_use]
            pub const fn from_ns(ns: i64) -> Self {
                Self(ns)
            }

            /// Return the time in ns.
            #[must_use]
            pub const fn ns(self) -> i64 {
                self.0
            }
        }

        impl std::ops::Add<i64> for $time {
            type Output = Self;

            /// Return the time so many ns later.
            fn add(self, ns: i64) -> Self {
                Self(self.0 + ns)
            }
        }

        impl std::ops::Sub for $time {
            type Output = i64;

            /// Return the ns between two times of one clock; those of two clocks cannot be subtracted.
            fn sub(self, earlier: Self) -> i64 {
                self.0 - earlier.0
            }
        }
    )*};
}
times!(Realtime, realtime_ns; Monotonic, monotonic_ns;);

/// The offset of `CLOCK_REALTIME` from `CLOCK_MONOTONIC`, by which times of one clock become those of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpochOffset(i64);

impl EpochOffset {
    /// Read both clocks once.
    #[must_use]
    pub fn read() -> Self {
        Self(realtime_ns() - monotonic_ns())
    }

    /// Build an offset of so many ns.
    #[must_use]
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// Return the offset in ns.
    #[must_use]
    pub const fn ns(self) -> i64 {
        self.0
    }

    /// Return the time of `CLOCK_REALTIME` at a monotonic time.
    #[must_use]
    pub const fn realtime(self, at: Monotonic) -> Realtime {
        Realtime(at.0 + self.0)
    }

    /// Return the monotonic time at a time of `CLOCK_REALTIME`.
    #[must_use]
    pub const fn monotonic(self, at: Realtime) -> Monotonic {
        Monotonic(at.0 - self.0)
    }
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
