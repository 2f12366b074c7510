//! Questions about the machine: its load, memory, disks, processors and interfaces; and the time that the process has used.

use core::ffi::{c_char, c_int, c_long, c_void};

use delaylab_calls::Call;

use crate::gate::{asked, mode, pass, pass_numbers};
use crate::mode::aside;
use crate::sys::{next, returned, sys};

#[unsafe(no_mangle)]
unsafe extern "C" fn clock() -> c_long {
    let real = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let done = sys!(SYS_clock_gettime, libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time);
        if done < 0 { done } else { time.tv_sec * 1_000_000 + time.tv_nsec / 1000 }
    };
    pass_numbers(asked(Call::Machine, -1), &[0], real)
}

/// Pass what the machine has: a name, numbers, and the memory that is filled.
unsafe fn filled<T>(
    name: &'static str,
    fd: c_int,
    path: *const c_char,
    into: *mut T,
    real: impl FnOnce() -> i64,
) -> i64 {
    pass(
        asked(Call::Machine, fd),
        |given| {
            given.put(name.as_bytes());
            given.text(path);
        },
        real,
        |port, _| port.memory(into, size_of::<T>()),
    )
}

const NO: *const c_char = core::ptr::null();

#[unsafe(no_mangle)]
unsafe extern "C" fn sysinfo(into: *mut libc::sysinfo) -> c_int {
    filled("sysinfo", -1, NO, into, || sys!(SYS_sysinfo, into)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn times(into: *mut libc::tms) -> libc::clock_t {
    filled("times", -1, NO, into, || sys!(SYS_times, into))
}

/// Define functions that say what a file system has: by a path, or by a descriptor.
macro_rules! file_systems {
    ($($name:ident $name64:ident $of:ident $of64:ident $kind:ty;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, into: *mut $kind) -> c_int {
            mode();
            let real: unsafe extern "C" fn(*const c_char, *mut $kind) -> c_int =
                next(concat!(stringify!($name), "\0"));
            let call = || returned(aside(|| real(path, into)).into());
            filled(stringify!($name), -1, path, into, call) as c_int
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name64(path: *const c_char, into: *mut $kind) -> c_int {
            $name(path, into)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $of(fd: c_int, into: *mut $kind) -> c_int {
            mode();
            let real: unsafe extern "C" fn(c_int, *mut $kind) -> c_int =
                next(concat!(stringify!($of), "\0"));
            let call = || returned(aside(|| real(fd, into)).into());
            filled(stringify!($of), fd, NO, into, call) as c_int
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $of64(fd: c_int, into: *mut $kind) -> c_int {
            $of(fd, into)
        })*
    };
}

file_systems! {
    statfs statfs64 fstatfs fstatfs64 libc::statfs;
    statvfs statvfs64 fstatvfs fstatvfs64 libc::statvfs;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getloadavg(into: *mut f64, count: c_int) -> c_int {
    mode();
    let real: unsafe extern "C" fn(*mut f64, c_int) -> c_int = next("getloadavg\0");
    pass(
        asked(Call::Machine, -1),
        |given| given.put(b"getloadavg"),
        || returned(aside(|| real(into, count)).into()),
        |port, found| port.memory(into, found.min(count.into()).max(0) as usize * 8),
    ) as c_int
}

/// Define functions that return a number of the machine, which the C library finds by calls of its own.
macro_rules! numbers {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            mode();
            let real: unsafe extern "C" fn($($kind),*) -> $result =
                next(concat!(stringify!($name), "\0"));
            pass(
                asked(Call::Machine, -1),
                |given| {
                    given.put(stringify!($name).as_bytes());
                    $(given.number($argument);)*
                },
                || returned(aside(|| real($($argument),*)) as c_long),
                |_, _| {},
            ) as $result
        })*
    };
}

numbers! {
    sysconf(name: c_int) -> c_long;
    get_nprocs() -> c_int;
    get_nprocs_conf() -> c_int;
    get_phys_pages() -> c_long;
    get_avphys_pages() -> c_long;
    sched_getcpu() -> c_int;
    nice(by: c_int) -> c_int;
    getpriority(which: c_int, who: c_int) -> c_int;
    sched_yield() -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn if_nametoindex(name: *const c_char) -> u32 {
    mode();
    let real: unsafe extern "C" fn(*const c_char) -> u32 = next("if_nametoindex\0");
    let call = || match aside(|| real(name)) {
        0 => -i64::from(crate::sys::errno()),
        found => found.into(),
    };
    // An error is 0, with `errno`.
    pass(asked(Call::Machine, -1), |given| given.text(name), call, |_, _| {}).max(0) as u32
}

#[unsafe(no_mangle)]
unsafe extern "C" fn if_indextoname(index: u32, into: *mut c_char) -> *mut c_char {
    mode();
    let real: unsafe extern "C" fn(u32, *mut c_char) -> *mut c_char = next("if_indextoname\0");
    let call = || {
        if aside(|| real(index, into)).is_null() { -i64::from(crate::sys::errno()) } else { 0 }
    };
    let done = pass(
        asked(Call::Machine, -1),
        |given| given.number(index),
        call,
        |port, _| port.memory(into.cast::<c_void>(), libc::IFNAMSIZ),
    );
    if done < 0 { core::ptr::null_mut() } else { into }
}
