//! Waits for several descriptors. A wait's longest time is not recorded: it follows from the clock, which is.

use core::ffi::{c_int, c_void};
use core::ptr;

use delaylab_calls::Call;
use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use crate::gate::{asked, making, pass, pass_numbers};
use crate::signals::waiting;
use crate::sys::sys;

/// The bytes of the kernel's signal mask.
const MASK: usize = 8;

#[unsafe(no_mangle)]
unsafe extern "C" fn poll(on: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int {
    let mut time = timespec {
        tv_sec: i64::from(timeout_ms / 1000),
        tv_nsec: i64::from(timeout_ms % 1000) * 1_000_000,
    };
    let time = if timeout_ms < 0 { ptr::null_mut() } else { &raw mut time };
    polled(on, count, time, ptr::null())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __poll_chk(on: *mut pollfd, count: nfds_t, time: c_int, _: usize) -> c_int {
    poll(on, count, time)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(
    on: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // The kernel writes the rest of the time.
    let mut time = if timeout.is_null() { core::mem::zeroed() } else { *timeout };
    let time = if timeout.is_null() { ptr::null_mut() } else { &raw mut time };
    polled(on, count, time, mask.cast())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __ppoll_chk(
    on: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    _: usize,
) -> c_int {
    ppoll(on, count, timeout, mask)
}

unsafe fn polled(on: *mut pollfd, count: nfds_t, time: *mut timespec, mask: *const u64) -> c_int {
    let real = |mask: *const u64| sys!(SYS_ppoll, on, count, time, mask, MASK);
    pass(
        asked(Call::Poll, -1),
        |given| {
            for index in 0..count as usize {
                let each = &*on.add(index);
                given.put(&each.fd.to_le_bytes());
                given.put(&each.events.to_le_bytes());
            }
        },
        || waiting(mask, real),
        |port, ready| {
            if port.replays() {
                for index in 0..count as usize {
                    (*on.add(index)).revents = 0;
                }
            }
            // Those alone that are ready: most are not.
            let mut at = 0;
            for _ in 0..ready {
                while !port.replays() && at < count as i64 && (*on.add(at as usize)).revents == 0 {
                    at += 1;
                }
                at = port.number(at);
                if at < 0 || at >= count as i64 {
                    port.over = true;
                    return;
                }
                port.memory(&raw mut (*on.add(at as usize)).revents, 2);
                at += 1;
            }
        },
    ) as c_int
}

/// Wait for a signal, with a mask that holds meanwhile (NULL: the present one).
unsafe fn suspended(mask: *const u64) -> c_int {
    let nothing = ptr::null_mut::<pollfd>();
    let real = |mask: *const u64| sys!(SYS_ppoll, nothing, 0, ptr::null::<timespec>(), mask, MASK);
    pass_numbers(asked(Call::Wait, -1), &[], || waiting(mask, real)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pause() -> c_int {
    suspended(ptr::null())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigsuspend(mask: *const sigset_t) -> c_int {
    suspended(mask.cast())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    others: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    if !timeout.is_null() {
        time.tv_sec = (*timeout).tv_sec;
        time.tv_nsec = (*timeout).tv_usec * 1000;
    }
    let place = if timeout.is_null() { ptr::null_mut() } else { &raw mut time };
    let result = selected(count, [reads, writes, others], place, ptr::null());
    if !timeout.is_null() {
        *timeout = timeval { tv_sec: time.tv_sec, tv_usec: time.tv_nsec / 1000 };
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pselect(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    others: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let mut time = if timeout.is_null() { core::mem::zeroed() } else { *timeout };
    let place = if timeout.is_null() { ptr::null_mut() } else { &raw mut time };
    selected(count, [reads, writes, others], place, mask.cast())
}

unsafe fn selected(
    count: c_int,
    sets: [*mut fd_set; 3],
    time: *mut timespec,
    mask: *const u64,
) -> c_int {
    let bytes = (count.max(0) as usize).div_ceil(64) * 8;
    let mut before = [core::mem::zeroed::<fd_set>(); 3];
    for (set, copy) in sets.iter().zip(&mut before) {
        if !set.is_null() {
            *copy = **set;
        }
    }
    let real = |mask: *const u64| {
        let given: [*const c_void; 2] = [mask.cast(), MASK as *const c_void];
        sys!(SYS_pselect6, count, sets[0], sets[1], sets[2], time, given.as_ptr())
    };
    pass(
        asked(Call::Select, -1),
        |given| {
            for (set, copy) in sets.iter().zip(&before) {
                given.number(i64::from(!set.is_null()));
                if !set.is_null() {
                    given.memory(copy, bytes.min(size_of::<fd_set>()));
                }
            }
        },
        || waiting(mask, real),
        |port, _| {
            for set in sets {
                port.memory(set, bytes);
            }
            // The rest of the time.
            port.memory(time, if time.is_null() { 0 } else { size_of::<timespec>() });
        },
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    let asked = making(Call::EpollCreate, -1);
    pass_numbers(asked, &[flags.into()], || sys!(SYS_epoll_create1, flags)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create(_: c_int) -> c_int {
    epoll_create1(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(
    at: c_int,
    what: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    // The rest of an event is the program's own, often an address.
    let events = if event.is_null() { 0 } else { i64::from((*event).events) };
    let numbers = [what.into(), fd.into(), events];
    pass_numbers(asked(Call::EpollCtl, at), &numbers, || sys!(SYS_epoll_ctl, at, what, fd, event))
        as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait(
    at: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout_ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    let real = |mask: *const u64| sys!(SYS_epoll_pwait, at, events, most, timeout_ms, mask, MASK);
    pass(
        asked(Call::EpollWait, at),
        |given| given.number(most),
        || waiting(mask.cast(), real),
        |port, count| {
            port.memory(events, count.min(most.into()) as usize * size_of::<epoll_event>())
        },
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    at: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout_ms: c_int,
) -> c_int {
    epoll_pwait(at, events, most, timeout_ms, ptr::null())
}
