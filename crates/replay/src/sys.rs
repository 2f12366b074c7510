//! System calls, made without the functions that this library replaces.

use core::ffi::{c_char, c_long, c_void};

/// Make a system call. Return what the kernel returns: a result, or minus the error's number.
macro_rules! sys {
    ($number:ident $(, $argument:expr)*) => {
        $crate::sys::returned(unsafe {
            // SAFETY: the caller's arguments are those of the system call.
            libc::syscall(libc::$number $(, $argument as core::ffi::c_long)*)
        })
    };
}
pub(crate) use sys;

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
