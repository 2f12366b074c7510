//! Descriptors of a replay: each is a placeholder for a recorded one, with its number.

use crate::sys::sys;

/// The number from which on this library's own descriptors are, out of the way of the program's.
pub(crate) const HIGH: i32 = 1000;

static mut NULL: i64 = -1;

/// Open what placeholders lead to: nowhere.
pub(crate) unsafe fn begin() {
    let flags = libc::O_RDWR | libc::O_CLOEXEC;
    let null = sys!(SYS_openat, libc::AT_FDCWD, c"/dev/null".as_ptr(), flags, 0);
    NULL = sys!(SYS_fcntl, null, libc::F_DUPFD_CLOEXEC, HIGH);
    sys!(SYS_close, null);
}

/// Put a descriptor where the recorded process had one, so that the next free number is the same.
#[allow(static_mut_refs)]
pub(crate) fn take_place(fd: i32) {
    // SAFETY: the number of the descriptor is set once.
    let null = unsafe { NULL };
    if i64::from(fd) != null {
        sys!(SYS_dup3, null, fd, libc::O_CLOEXEC);
    }
}

/// Free the place of a descriptor that the program closes. Its standard ones stay: what it prints is seen.
pub(crate) fn leave_place(fd: i32) {
    // SAFETY: as above.
    let null = unsafe { NULL };
    if fd > 2 && i64::from(fd) != null {
        sys!(SYS_close, fd);
    }
}
