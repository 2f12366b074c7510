//! Streams of the C library. Those that a program opens, and its standard ones, read and write by this library's own
//! functions (fopencookie(3)), *because* the C library's streams make calls that nobody can replace.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use libc::FILE;

use super::descriptors::{close, dup3, fcntl};
use super::files::{lseek, openat};
use super::identity::isatty;
use super::input::read;
use super::output::write;
use crate::gate::{Mode, mode};
use crate::sys::{next, set_errno};

#[repr(C)]
#[derive(Clone, Copy)]
struct Functions {
    read: unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> isize,
    write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize,
    seek: unsafe extern "C" fn(*mut c_void, *mut i64, c_int) -> c_int,
    close: unsafe extern "C" fn(*mut c_void) -> c_int,
}

const FUNCTIONS: Functions = Functions { read: reads, write: writes, seek: seeks, close: closes };
/// The place of the descriptor in a stream, which is part of the C library's binary interface (`_fileno`).
const DESCRIPTOR_AT: usize = 112;
/// The place of the table of a stream's functions, by which streams of this library are known.
const TABLE_AT: usize = 216;
/// Places of standard streams are buffered by lines, or not at all (setvbuf(3)).
const LINES: c_int = 1;
const UNBUFFERED: c_int = 2;

unsafe extern "C" {
    static mut stdin: *mut FILE;
    static mut stdout: *mut FILE;
    static mut stderr: *mut FILE;
    fn fopencookie(cookie: *mut c_void, how: *const c_char, by: Functions) -> *mut FILE;
    fn __fpurge(stream: *mut FILE);
}

fn of(cookie: *mut c_void) -> c_int {
    cookie as usize as c_int
}

unsafe extern "C" fn reads(cookie: *mut c_void, into: *mut c_char, room: usize) -> isize {
    read(of(cookie), into.cast(), room)
}

/// Write all bytes, as the C library's own streams do. Return how many were written.
unsafe extern "C" fn writes(cookie: *mut c_void, from: *const c_char, length: usize) -> isize {
    let mut done = 0;
    while done < length {
        match write(of(cookie), from.add(done).cast(), length - done) {
            count if count > 0 => done += count as usize,
            _ => break,
        }
    }
    done as isize
}

unsafe extern "C" fn seeks(cookie: *mut c_void, offset: *mut i64, from: c_int) -> c_int {
    let at = lseek(of(cookie), *offset, from);
    if at < 0 {
        return -1;
    }
    *offset = at;
    0
}

unsafe extern "C" fn closes(cookie: *mut c_void) -> c_int {
    close(of(cookie))
}

/// Make a stream of a descriptor.
unsafe fn stream(fd: c_int, how: *const c_char) -> *mut FILE {
    let made = fopencookie(fd as usize as *mut c_void, how, FUNCTIONS);
    if !made.is_null() {
        made.byte_add(DESCRIPTOR_AT).cast::<c_int>().write(fd);
    }
    made
}

fn is_recorded() -> bool {
    matches!(mode(), Mode::Record | Mode::Replay)
}

/// Have the standard streams pass this library. The C library's functions find them by these variables.
pub(super) unsafe fn begin() {
    if !is_recorded() {
        return;
    }
    stdin = stream(0, c"r".as_ptr());
    stdout = stream(1, c"w".as_ptr());
    stderr = stream(2, c"w".as_ptr());
    libc::setvbuf(stderr, ptr::null_mut(), UNBUFFERED, 0);
    if isatty(1) == 1 {
        libc::setvbuf(stdout, ptr::null_mut(), LINES, 0);
    }
}

/// Write what streams hold: the C library does so at the very end, after this library has ended the log.
pub(super) fn end() {
    if is_recorded() {
        // SAFETY: NULL stands for all streams.
        unsafe { libc::fflush(ptr::null_mut()) };
    }
}

/// Return the flags that open a stream's file (fopen(3)); None for a mode that is left to the C library.
fn flags(how: &[u8]) -> Option<c_int> {
    if how.contains(&b',') {
        return None;
    }
    let both = how.contains(&b'+');
    let base = match how.first()? {
        b'r' => 0,
        b'w' => libc::O_CREAT | libc::O_TRUNC,
        b'a' => libc::O_CREAT | libc::O_APPEND,
        _ => return None,
    };
    let direction = match (both, how[0]) {
        (true, _) => libc::O_RDWR,
        (false, b'r') => libc::O_RDONLY,
        _ => libc::O_WRONLY,
    };
    let more = |letter: u8, flag: c_int| if how.contains(&letter) { flag } else { 0 };
    Some(base | direction | more(b'x', libc::O_EXCL) | more(b'e', libc::O_CLOEXEC))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fopen(path: *const c_char, how: *const c_char) -> *mut FILE {
    let flags = flags(CStr::from_ptr(how).to_bytes());
    let (Some(flags), true) = (flags, is_recorded()) else {
        type Open = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut FILE;
        let real: Open = next("fopen\0");
        return real(path, how);
    };
    let fd = openat(libc::AT_FDCWD, path, flags, 0o666);
    if fd < 0 { ptr::null_mut() } else { opened(fd, how) }
}

/// Make a stream of a descriptor that is its own: it is closed if that fails.
unsafe fn opened(fd: c_int, how: *const c_char) -> *mut FILE {
    let made = stream(fd, how);
    if made.is_null() {
        close(fd);
        set_errno(libc::ENOMEM);
    }
    made
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fopen64(path: *const c_char, how: *const c_char) -> *mut FILE {
    fopen(path, how)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdopen(fd: c_int, how: *const c_char) -> *mut FILE {
    let Some(wanted) = flags(CStr::from_ptr(how).to_bytes()).filter(|_| is_recorded()) else {
        let real: unsafe extern "C" fn(c_int, *const c_char) -> *mut FILE = next("fdopen\0");
        return real(fd, how);
    };
    let now = fcntl(fd, libc::F_GETFL, 0);
    if now < 0 {
        return ptr::null_mut();
    }
    if wanted & libc::O_APPEND & !now != 0 {
        fcntl(fd, libc::F_SETFL, (now | libc::O_APPEND) as usize);
    }
    stream(fd, how)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn freopen(path: *const c_char, how: *const c_char, of: *mut FILE) -> *mut FILE {
    type Open = unsafe extern "C" fn(*const c_char, *const c_char, *mut FILE) -> *mut FILE;
    let flags = flags(CStr::from_ptr(how).to_bytes());
    let (Some(flags), true) = (flags, is_recorded() && is_own(of)) else {
        let real: Open = next("freopen\0");
        return real(path, how, of);
    };
    libc::fflush(of);
    __fpurge(of);
    libc::clearerr(of);
    if path.is_null() {
        return of;
    }
    let fd = libc::fileno(of);
    let new = openat(libc::AT_FDCWD, path, flags, 0o666);
    if new < 0 {
        libc::fclose(of);
        return ptr::null_mut();
    }
    // The stream keeps its descriptor, which others may know: 0, 1 or 2.
    if new != fd {
        dup3(new, fd, flags & libc::O_CLOEXEC);
        close(new);
    }
    of
}

#[unsafe(no_mangle)]
unsafe extern "C" fn freopen64(
    path: *const c_char,
    how: *const c_char,
    of: *mut FILE,
) -> *mut FILE {
    freopen(path, how, of)
}

/// Return true for a stream of this library: it has the functions that standard output has.
unsafe fn is_own(of: *mut FILE) -> bool {
    let table = |of: *mut FILE| of.byte_add(TABLE_AT).cast::<*const c_void>().read();
    table(of) == table(stderr) || table(of) == table(stdout)
}
