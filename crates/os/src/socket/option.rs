//! Socket options (socket(7)).

use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use nix::sys::socket::{getsockopt, sockopt};

/// Set a socket option to a plain value (setsockopt(2)). `level` and `name` are constants of the option's man
/// page.
pub(crate) fn set_option<T>(fd: RawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` points to `length` readable bytes for the length of the call.
    let result =
        unsafe { libc::setsockopt(fd, level, name, std::ptr::from_ref(value).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Fail with the socket's pending error, if any, and clear it (`SO_ERROR`): `ENETDOWN` when the interface of
/// a packet socket has gone away.
pub(crate) fn pending_error(fd: BorrowedFd<'_>) -> io::Result<()> {
    let errno = getsockopt(&fd, sockopt::SocketError)?;
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}
