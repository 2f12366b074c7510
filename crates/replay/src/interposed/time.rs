//! Clocks and pauses.

use core::ffi::{c_int, c_void};

use delaylab_calls::Call;
use libc::{timespec, timeval};

use crate::gate::{Mode, asked, mode, pass, pass_time};
use crate::sys::sys;

const S: i64 = 1_000_000_000;

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn clock_gettime(clock: c_int, into: *mut timespec) -> c_int {
    let time = pass_time(Call::ClockGettime, clock, || now(clock));
    if time < 0 {
        crate::sys::set_errno(libc::EINVAL);
        return -1;
    }
    *into = timespec { tv_sec: time / S, tv_nsec: time % S };
    0
}

/// Return a clock's time in ns, or minus an error's number. A recorded process gets whole µs, *because* the log then
/// needs a byte or two for most readings.
fn now(clock: c_int) -> i64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    let done = sys!(SYS_clock_gettime, clock, &raw mut time);
    if done < 0 {
        return done;
    }
    let ns = time.tv_sec * S + time.tv_nsec;
    if mode() == Mode::Record { ns - ns % 1000 } else { ns }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timespec_get(into: *mut timespec, base: c_int) -> c_int {
    const UTC: c_int = 1;
    if base == UTC && clock_gettime(libc::CLOCK_REALTIME, into) == 0 { base } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(into: *mut timeval, _: *mut c_void) -> c_int {
    let time = pass_time(Call::Gettimeofday, libc::CLOCK_REALTIME, || now(libc::CLOCK_REALTIME));
    if !into.is_null() {
        *into = timeval { tv_sec: time / S, tv_usec: time % S / 1000 };
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(into: *mut libc::time_t) -> libc::time_t {
    // The C library's reads the time of the last tick; so does this one.
    let clock = libc::CLOCK_REALTIME_COARSE;
    let seconds = pass_time(Call::Time, clock, || now(clock) / S * S) / S;
    if !into.is_null() {
        *into = seconds;
    }
    seconds
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    length: *const timespec,
    rest: *mut timespec,
) -> c_int {
    let done = pass(
        asked(Call::Nanosleep, clock),
        |given| given.memory(length, size_of::<timespec>()),
        || sys!(SYS_clock_nanosleep, clock, flags, length, rest),
        |_, _| {},
    );
    if done < 0 { crate::sys::errno() } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(length: *const timespec, rest: *mut timespec) -> c_int {
    let error = clock_nanosleep(libc::CLOCK_MONOTONIC, 0, length, rest);
    if error != 0 {
        crate::sys::set_errno(error);
        return -1;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(length_us: u32) -> c_int {
    let length = i64::from(length_us);
    let length = timespec { tv_sec: length / 1_000_000, tv_nsec: length % 1_000_000 * 1000 };
    nanosleep(&raw const length, core::ptr::null_mut())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: u32) -> u32 {
    let length = timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
    let mut rest = timespec { tv_sec: 0, tv_nsec: 0 };
    if nanosleep(&raw const length, &raw mut rest) < 0 && mode() != Mode::Replay {
        rest.tv_sec as u32
    } else {
        0
    }
}
