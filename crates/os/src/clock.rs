//! This kernel's clocks: `CLOCK_REALTIME`, which all stamps are taken on, and others (clock_gettime(2)).

use std::io;
use std::ops::{Add, Div, Mul, Sub};
use std::time::Duration;

/// A span of time; negative if it leads back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Return the length of the span.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self(self.0.abs())
    }

    /// Return the span as a time to sleep, which is 0 if it leads back.
    #[must_use]
    pub const fn to_wait(self) -> Duration {
        Duration::from_nanos(if self.0 < 0 { 0 } else { self.0.cast_unsigned() })
    }
}

impl Mul<i64> for Span {
    type Output = Self;

    fn mul(self, times: i64) -> Self {
        Self(self.0 * times)
    }
}

impl Div<i64> for Span {
    type Output = Self;

    fn div(self, parts: i64) -> Self {
        Self(self.0 / parts)
    }
}

/// A time of `CLOCK_REALTIME`, the clock of all stamps. It jumps when somebody sets the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Realtime(i64);

/// A time of `CLOCK_MONOTONIC`, which nobody sets.
///
/// Times of two clocks cannot be mixed; [`EpochOffset`] converts them.
/// ```compile_fail,E0308
/// use delaylab_os::clock::{Monotonic, Realtime};
/// let mixed = Monotonic::now() - Realtime::now();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monotonic(i64);

macro_rules! nanoseconds {
    ($($kind:ident)*) => {$(
        impl $kind {
            /// Build a value from its ns.
            #[must_use]
            pub const fn from_ns(ns: i64) -> Self {
                Self(ns)
            }

            /// Return the value in ns.
            #[must_use]
            pub const fn ns(self) -> i64 {
                self.0
            }
        }

        impl Add<Span> for $kind {
            type Output = Self;

            fn add(self, later: Span) -> Self {
                Self(self.0 + later.0)
            }
        }

        impl Sub for $kind {
            type Output = Span;

            /// Return the span between two times of one clock; those of two clocks cannot be subtracted.
            fn sub(self, earlier: Self) -> Span {
                Span(self.0 - earlier.0)
            }
        }
    )*};
}
nanoseconds!(Realtime Monotonic Span);

impl Realtime {
    /// Read the clock. Makes no system call where the vDSO serves it.
    #[must_use]
    pub fn now() -> Self {
        Self(time_ns(libc::CLOCK_REALTIME))
    }
}

impl Monotonic {
    /// Read the clock. Makes no system call where the vDSO serves it.
    #[must_use]
    pub fn now() -> Self {
        Self(time_ns(libc::CLOCK_MONOTONIC))
    }
}

impl Sub<Span> for Monotonic {
    type Output = Self;

    fn sub(self, before: Span) -> Self {
        Self(self.0 - before.0)
    }
}

/// The offset of `CLOCK_REALTIME` from `CLOCK_MONOTONIC`, by which times of one clock become those of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpochOffset(i64);

impl Sub for EpochOffset {
    type Output = Span;

    /// Return by how much the clock was set between two readings.
    fn sub(self, earlier: Self) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl EpochOffset {
    /// Read both clocks once.
    #[must_use]
    pub fn read() -> Self {
        Self(Realtime::now().0 - Monotonic::now().0)
    }

    /// Read the offset as exactly as can be, and return how much the true one may differ from it: each of several
    /// readings lies between two of the other clock, and the offset in all of these intervals.
    #[must_use]
    pub fn read_exactly() -> (Self, Span) {
        const READINGS: usize = 16;
        let (mut least, mut most) = (i64::MIN, i64::MAX);
        for _ in 0..READINGS {
            let (before, epoch, after) = (Monotonic::now(), Realtime::now(), Monotonic::now());
            let (low, high) = (epoch.0 - after.0, epoch.0 - before.0);
            // The clock was set meanwhile: only the later readings count.
            if low > most || high < least {
                (least, most) = (low, high);
            }
            (least, most) = (least.max(low), most.min(high));
        }
        (Self(least + (most - least) / 2), Span((most - least) / 2 + 1))
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

/// Return the CPU time that the calling thread has used. Makes a system call.
#[must_use]
pub fn thread_cpu() -> Span {
    Span(time_ns(libc::CLOCK_THREAD_CPUTIME_ID))
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
