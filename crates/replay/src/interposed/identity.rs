//! Identity of a process, and its rights.

use core::ffi::{c_char, c_int, c_long, c_ulong, c_void};

use delaylab_calls::Call;

use crate::gate::{Mode, asked, mode, pass, pass_numbers};
use crate::sys::{next, returned, sys};

/// Define functions that return a number of the process.
macro_rules! numbers {
    ($($name:ident -> $kind:ty = $call:ident, $system:ident;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> $kind {
            pass_numbers(asked(Call::$call, -1), &[], || sys!($system)) as $kind
        })*
    };
}

numbers! {
    getpid -> libc::pid_t = Getpid, SYS_getpid;
    getppid -> libc::pid_t = Getppid, SYS_getppid;
    getuid -> u32 = Getuid, SYS_getuid;
    geteuid -> u32 = Geteuid, SYS_geteuid;
    getgid -> u32 = Getgid, SYS_getgid;
    getegid -> u32 = Getegid, SYS_getegid;
    gettid -> libc::pid_t = Gettid, SYS_gettid;
}

/// Pass a system call by its number. One that is not recorded is noted.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: i64,
    b: i64,
    c: i64,
    d: i64,
    e: i64,
    f: i64,
) -> c_long {
    if number == libc::SYS_gettid {
        return gettid().into();
    }
    let all = [a, b, c, d, e, f];
    if number == libc::SYS_futex
        && let Some(result) = super::threads::futex(all)
    {
        return result;
    }
    // The calls that programs make by their numbers, since older C libraries lack functions for them.
    match number {
        libc::SYS_getrandom => return getrandom(a as *mut c_void, b as usize, c as u32) as c_long,
        libc::SYS_clock_gettime => {
            return super::time::clock_gettime(a as c_int, b as *mut libc::timespec).into();
        }
        libc::SYS_getpid => return getpid().into(),
        libc::SYS_read => {
            return super::input::read(a as c_int, b as *mut c_void, c as usize) as c_long;
        }
        libc::SYS_write => {
            return super::output::write(a as c_int, b as *const c_void, c as usize) as c_long;
        }
        libc::SYS_close => return super::descriptors::close(a as c_int).into(),
        // Neither gets anything of the outside.
        libc::SYS_futex | libc::SYS_membarrier | libc::SYS_rseq | libc::SYS_set_robust_list => {}
        _ => super::unseen::note(b"syscall"),
    }
    let result = crate::sys::call(number, &all);
    if (-4095..0).contains(&result) {
        crate::sys::set_errno(-result as i32);
        return -1;
    }
    result
}

/// Define functions that change credentials. The C library's own is called: it changes those of all threads.
macro_rules! credentials {
    ($($name:ident($($argument:ident),*);)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: u32),*) -> c_int {
            let real = || {
                let real: unsafe extern "C" fn($($argument: u32),*) -> c_int = next(concat!(stringify!($name), "\0"));
                returned(real($($argument),*).into())
            };
            let numbers: &[i64] = &[$($argument as i32 as i64),*];
            pass(
                asked(Call::Credentials, -1),
                |given| {
                    given.put(stringify!($name).as_bytes());
                    numbers.iter().for_each(|it| given.number(*it));
                },
                real,
                |_, _| {},
            ) as c_int
        })*
    };
}

credentials! {
    setuid(user);
    setgid(group);
    seteuid(user);
    setegid(group);
    setreuid(user, effective);
    setregid(group, effective);
    setresuid(user, effective, saved);
    setresgid(group, effective, saved);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setgroups(count: usize, groups: *const u32) -> c_int {
    let real = || {
        let real: unsafe extern "C" fn(usize, *const u32) -> c_int = next("setgroups\0");
        returned(real(count, groups).into())
    };
    pass(asked(Call::Credentials, -1), |given| given.memory(groups, count * 4), real, |_, _| {})
        as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setsid() -> libc::pid_t {
    let real = || sys!(SYS_setsid);
    pass(asked(Call::Credentials, -1), |given| given.put(b"setsid"), real, |_, _| {}) as libc::pid_t
}

/// Pass a change of capabilities. Its header has the version, and comes back.
#[unsafe(no_mangle)]
unsafe extern "C" fn capset(header: *mut c_void, data: *const c_void) -> c_int {
    pass(asked(Call::Capabilities, 0), |_| {}, || sys!(SYS_capset, header, data), |_, _| {})
        as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn capget(header: *mut c_void, data: *mut c_void) -> c_int {
    /// Two sets of three words (version 3 of linux/capability.h).
    const DATA: usize = 24;
    pass(
        asked(Call::Capabilities, 1),
        |_| {},
        || sys!(SYS_capget, header, data),
        |port, _| {
            port.memory(header, 4);
            port.memory(data, DATA);
        },
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(what: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    pass_numbers(asked(Call::Prctl, -1), &[what.into()], || sys!(SYS_prctl, what, a, b, c, d))
        as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn uname(into: *mut libc::utsname) -> c_int {
    pass(
        asked(Call::Uname, -1),
        |_| {},
        || sys!(SYS_uname, into),
        |port, _| port.memory(into, size_of::<libc::utsname>()),
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gethostname(into: *mut c_char, room: usize) -> c_int {
    let real = || {
        let real: unsafe extern "C" fn(*mut c_char, usize) -> c_int = next("gethostname\0");
        returned(real(into, room).into())
    };
    pass(asked(Call::Gethostname, -1), |_| {}, real, |port, _| port.memory(into, room)) as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getrandom(into: *mut c_void, length: usize, flags: u32) -> isize {
    pass(
        asked(Call::Getrandom, -1),
        |given| given.number(length),
        || sys!(SYS_getrandom, into, length, flags),
        |port, count| port.memory(into, length.min(count as usize)),
    ) as isize
}

/// Put recorded bytes in place of the random ones that the kernel gives a program at its start (getauxval(3)).
pub(super) unsafe fn own_random() {
    const BYTES: usize = 16;
    let place = libc::getauxval(libc::AT_RANDOM) as *mut c_void;
    if matches!(mode(), Mode::Record | Mode::Replay) && !place.is_null() {
        getrandom(place, BYTES, 0);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(into: *mut c_void, length: usize) -> c_int {
    if getrandom(into, length, 0) == length as isize { 0 } else { -1 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random_buf(into: *mut c_void, length: usize) {
    let mut done = 0;
    while done < length {
        let count = getrandom(into.add(done), (length - done).min(256), 0);
        done += usize::try_from(count).unwrap_or(0);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random() -> u32 {
    let mut number = 0u32;
    arc4random_buf((&raw mut number).cast(), 4);
    number
}

#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random_uniform(below: u32) -> u32 {
    if below < 2 { 0 } else { ((u64::from(arc4random()) * u64::from(below)) >> 32) as u32 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrlimit(what: u32, into: *mut libc::rlimit) -> c_int {
    pass(
        asked(Call::Getrlimit, what as i32),
        |_| {},
        || sys!(SYS_prlimit64, 0, what, 0, into),
        |port, _| port.memory(into, size_of::<libc::rlimit>()),
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setrlimit(what: u32, limit: *const libc::rlimit) -> c_int {
    pass(
        asked(Call::Setrlimit, what as i32),
        |given| given.memory(limit, size_of::<libc::rlimit>()),
        || sys!(SYS_prlimit64, 0, what, limit, 0),
        |_, _| {},
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrusage(who: c_int, into: *mut libc::rusage) -> c_int {
    pass(
        asked(Call::Getrusage, who),
        |_| {},
        || sys!(SYS_getrusage, who, into),
        |port, _| port.memory(into, size_of::<libc::rusage>()),
    ) as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn isatty(fd: c_int) -> c_int {
    let mut settings = [0u8; 64];
    let real = || if sys!(SYS_ioctl, fd, libc::TCGETS, settings.as_mut_ptr()) < 0 { 0 } else { 1 };
    pass_numbers(asked(Call::Isatty, fd), &[], real) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn kill(process: libc::pid_t, signal: c_int) -> c_int {
    if mode() == Mode::Replay && signal == libc::SIGABRT {
        // The end that the program wants for itself.
        libc::abort();
    }
    let numbers = [process.into(), signal.into()];
    pass_numbers(asked(Call::Kill, -1), &numbers, || sys!(SYS_kill, process, signal)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitpid(
    process: libc::pid_t,
    status: *mut c_int,
    flags: c_int,
) -> libc::pid_t {
    pass(
        asked(Call::Waitpid, -1),
        |given| given.number(process),
        || sys!(SYS_wait4, process, status, flags, 0),
        |port, _| port.memory(status, 4),
    ) as libc::pid_t
}
