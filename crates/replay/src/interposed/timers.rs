//! Timers. Their signals are recorded when they come: a replay sets none.

use core::ffi::{c_int, c_uint, c_void};

use delaylab_calls::Call;
use libc::itimerspec;

use crate::gate::{asked, making, pass, pass_numbers};
use crate::sys::sys;

#[unsafe(no_mangle)]
unsafe extern "C" fn alarm(seconds: c_uint) -> c_uint {
    let mut old = [0i64; 4];
    let new = [0, 0, i64::from(seconds), 0];
    let real = || {
        sys!(SYS_setitimer, libc::ITIMER_REAL, new.as_ptr(), old.as_mut_ptr());
        // A rest of less than a second is one, because 0 means that there was none.
        old[2] + i64::from(old[3] >= 500_000 || old[2] == 0 && old[3] > 0)
    };
    pass_numbers(asked(Call::Alarm, -1), &[seconds.into()], real) as c_uint
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setitimer(which: c_int, new: *const [i64; 4], old: *mut [i64; 4]) -> c_int {
    pass(
        asked(Call::Setitimer, which),
        |given| given.memory(new, 32),
        || sys!(SYS_setitimer, which, new, old),
        |port, _| port.memory(old, 32),
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timer_create(clock: c_int, event: *mut c_void, id: *mut *mut c_void) -> c_int {
    // The kernel's number of a timer stands for the C library's address. Signals alone are sent by it.
    let mut number = 0i32;
    let place = &raw mut number;
    let done = pass(
        asked(Call::Timer, clock),
        |given| given.put(b"create"),
        || sys!(SYS_timer_create, clock, event, place),
        |port, _| port.memory(place, 4),
    );
    if done == 0 {
        *id = number as usize as *mut c_void;
    }
    done as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timer_settime(
    id: *mut c_void,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    pass(
        asked(Call::Timer, id as usize as i32),
        |given| {
            given.put(b"set");
            given.memory(new, size_of::<itimerspec>());
        },
        || sys!(SYS_timer_settime, id, flags, new, old),
        |port, _| port.memory(old, size_of::<itimerspec>()),
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timer_gettime(id: *mut c_void, into: *mut itimerspec) -> c_int {
    pass(
        asked(Call::Timer, id as usize as i32),
        |given| given.put(b"get"),
        || sys!(SYS_timer_gettime, id, into),
        |port, _| port.memory(into, size_of::<itimerspec>()),
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timer_delete(id: *mut c_void) -> c_int {
    pass(
        asked(Call::Timer, id as usize as i32),
        |given| given.put(b"delete"),
        || sys!(SYS_timer_delete, id),
        |_, _| {},
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    let numbers = [clock.into(), flags.into()];
    pass_numbers(making(Call::TimerfdCreate, -1), &numbers, || {
        sys!(SYS_timerfd_create, clock, flags)
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_settime(
    fd: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    pass(
        asked(Call::TimerfdSettime, fd),
        |given| given.memory(new, size_of::<itimerspec>()),
        || sys!(SYS_timerfd_settime, fd, flags, new, old),
        |port, _| port.memory(old, size_of::<itimerspec>()),
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_gettime(fd: c_int, into: *mut itimerspec) -> c_int {
    pass(
        asked(Call::TimerfdGettime, fd),
        |_| {},
        || sys!(SYS_timerfd_gettime, fd, into),
        |port, _| port.memory(into, size_of::<itimerspec>()),
    ) as c_int
}
