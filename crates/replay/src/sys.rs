//! System calls, made without the functions that this library replaces.

use core::ffi::{c_char, c_long, c_void};
use core::sync::atomic::AtomicU32;

/// Make a system call. Return what the kernel returns: a result, or minus the error's number.
macro_rules! sys {
    ($number:ident $(, $argument:expr)*) => {
        $crate::sys::call(libc::$number, &[$($argument as i64),*])
    };
}
pub(crate) use sys;

/// Make a system call, with zeros for the arguments that are left out.
pub(crate) fn call(number: c_long, arguments: &[i64]) -> i64 {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { raw(number, all) }
}

#[cfg(target_arch = "x86_64")]
unsafe fn raw(number: c_long, [a, b, c, d, e, f]: [i64; 6]) -> i64 {
    let result;
    core::arch::asm!(
        "syscall", inlateout("rax") number => result,
        in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
        lateout("rcx") _, lateout("r11") _, options(nostack)
    );
    result
}

#[cfg(target_arch = "aarch64")]
unsafe fn raw(number: c_long, [a, b, c, d, e, f]: [i64; 6]) -> i64 {
    let result;
    core::arch::asm!(
        "svc 0", in("x8") number, inlateout("x0") a => result,
        in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f, options(nostack)
    );
    result
}

/// Turn the C library's way to return an error into the kernel's.
pub(crate) fn returned(result: c_long) -> i64 {
    if result == -1 { -i64::from(errno()) } else { result }
}

pub(crate) fn errno() -> i32 {
    // SAFETY: the C library's own place for this thread's error.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(number: i32) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = number }
}

/// Return the next definition of a function that this library defines, too: the C library's.
///
/// # Safety
/// `F` is the function's type, and `name` ends with a zero.
pub(crate) unsafe fn next<F: Copy>(name: &'static str) -> F {
    debug_assert!(name.ends_with('\0'));
    let found = libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast::<c_char>());
    if found.is_null() {
        end(127);
    }
    core::mem::transmute_copy::<*mut c_void, F>(&found)
}

/// End the process at once.
pub(crate) fn end(code: i32) -> ! {
    loop {
        sys!(SYS_exit_group, code);
    }
}

/// Return true if a call on a descriptor would wait.
pub(crate) fn is_blocked(fd: i32, events: i16) -> bool {
    let mut on = libc::pollfd { fd, events, revents: 0 };
    let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    sys!(SYS_ppoll, &raw mut on, 1, &raw const none, 0, 8) == 0
}

/// Wait while a word in memory has a value, for some ms at most (futex(2)).
pub(crate) fn futex_wait(on: &AtomicU32, while_it_is: u32, most_ms: Option<i64>) -> i64 {
    let ms = most_ms.unwrap_or(0);
    let time = libc::timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
    let time = if most_ms.is_some() { &raw const time } else { core::ptr::null() };
    sys!(SYS_futex, on.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, while_it_is, time)
}

/// Wait while a word in memory has a value, until a time by a clock (NULL: for ever).
pub(crate) fn futex_wait_until(
    on: &AtomicU32,
    while_it_is: u32,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> i64 {
    let by = if clock == libc::CLOCK_REALTIME { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    let how = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG | by;
    sys!(SYS_futex, on.as_ptr(), how, while_it_is, until, 0, -1)
}

/// Wake threads that wait for a word in memory.
pub(crate) fn futex_wake(on: &AtomicU32, most: i32) {
    sys!(SYS_futex, on.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, most);
}

/// Open a file that whoever replays has named: by its path, or as `fd:N`, a descriptor that is open already.
///
/// # Safety
/// The path ends with a zero.
pub(crate) unsafe fn open(path: *const c_char, flags: i32) -> i64 {
    let text = core::ffi::CStr::from_ptr(path).to_bytes();
    let number =
        text.strip_prefix(b"fd:").and_then(|it| core::str::from_utf8(it).ok()?.parse().ok());
    number.unwrap_or_else(|| sys!(SYS_openat, libc::AT_FDCWD, path, flags | libc::O_CLOEXEC, 0))
}

/// Read a whole file into memory, as far as it fits. Return the number of bytes, or minus an error's number.
pub(crate) fn read_file(path: *const c_char, into: &mut [u8]) -> i64 {
    let fd = sys!(SYS_openat, libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC, 0);
    if fd < 0 {
        return fd;
    }
    let mut length = 0;
    while length < into.len() {
        let rest = &mut into[length..];
        let count = sys!(SYS_read, fd, rest.as_mut_ptr(), rest.len());
        if count <= 0 {
            break;
        }
        length += count as usize;
    }
    sys!(SYS_close, fd);
    length as i64
}
