//! Entries of folders, and paths without links. The C library finds them by calls of its own, so these are this
//! library's.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::mem::offset_of;
use core::ptr;

use delaylab_calls::Call;
use libc::dirent64;

use super::descriptors::close;
use super::files::{lseek, openat};
use crate::gate::{asked, mode, pass};
use crate::mode::aside;
use crate::sys::{errno, next, set_errno, sys};

const ROOM: usize = 32 << 10;

/// An open folder, with entries that were read.
#[repr(C)]
struct Folder {
    fd: c_int,
    length: usize,
    at: usize,
    offset: i64,
    entries: [u8; ROOM],
}

unsafe fn folder(fd: c_int) -> *mut Folder {
    let made = libc::calloc(1, size_of::<Folder>()).cast::<Folder>();
    if !made.is_null() {
        (*made).fd = fd;
    }
    made
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opendir(path: *const c_char) -> *mut Folder {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let fd = openat(libc::AT_FDCWD, path, flags, 0);
    if fd < 0 {
        return ptr::null_mut();
    }
    let made = folder(fd);
    if made.is_null() {
        close(fd);
    }
    made
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdopendir(fd: c_int) -> *mut Folder {
    folder(fd)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readdir64(of: *mut Folder) -> *mut dirent64 {
    let of = &mut *of;
    if of.at >= of.length {
        let (fd, into) = (of.fd, of.entries.as_mut_ptr());
        let count = pass(
            asked(Call::Getdents, fd),
            |_| {},
            || sys!(SYS_getdents64, fd, into, ROOM),
            |port, count| port.memory(into, ROOM.min(count as usize)),
        );
        if count <= 0 {
            return ptr::null_mut();
        }
        of.length = ROOM.min(count as usize);
        of.at = 0;
    }
    let entry = of.entries.as_mut_ptr().add(of.at).cast::<dirent64>();
    // The kernel's entry has the C library's form, without what is behind its name; it need not be aligned in a log.
    let length = entry.byte_add(offset_of!(dirent64, d_reclen)).cast::<u16>().read_unaligned();
    of.offset = entry.byte_add(offset_of!(dirent64, d_off)).cast::<i64>().read_unaligned();
    of.at += usize::from(length.max(1));
    entry
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readdir(of: *mut Folder) -> *mut dirent64 {
    readdir64(of)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn closedir(of: *mut Folder) -> c_int {
    let fd = (*of).fd;
    libc::free(of.cast());
    close(fd)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dirfd(of: *mut Folder) -> c_int {
    (*of).fd
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rewinddir(of: *mut Folder) {
    seekdir(of, 0);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn telldir(of: *mut Folder) -> c_long {
    (*of).offset
}

#[unsafe(no_mangle)]
unsafe extern "C" fn seekdir(of: *mut Folder, to: c_long) {
    lseek((*of).fd, to, libc::SEEK_SET);
    ((*of).length, (*of).at, (*of).offset) = (0, 0, to);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realpath(path: *const c_char, into: *mut c_char) -> *mut c_char {
    type Real = unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut c_char;
    const ROOM: usize = libc::PATH_MAX as usize;
    let mut found = [0u8; ROOM];
    let place = found.as_mut_ptr();
    if path.is_null() {
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    }
    mode();
    let real: Real = next("realpath\0");
    let done = pass(
        asked(Call::Realpath, -1),
        |given| given.text(path),
        || {
            if aside(|| real(path, place.cast())).is_null() {
                return -i64::from(errno());
            }
            libc::strlen(place.cast()) as i64
        },
        |port, length| port.memory(place, ROOM.min(length as usize + 1)),
    );
    if done < 0 {
        return ptr::null_mut();
    }
    if into.is_null() {
        return libc::strdup(place.cast());
    }
    ptr::copy_nonoverlapping(place, into.cast(), done as usize + 1);
    into
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __realpath_chk(
    path: *const c_char,
    into: *mut c_char,
    _: usize,
) -> *mut c_char {
    realpath(path, into)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
    realpath(path, ptr::null_mut())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getcwd(into: *mut c_char, room: usize) -> *mut c_char {
    let mut found = [0u8; libc::PATH_MAX as usize];
    let place = found.as_mut_ptr();
    let done = pass(
        asked(Call::Getcwd, -1),
        |_| {},
        || sys!(SYS_getcwd, place, libc::PATH_MAX),
        |port, length| port.memory(place, (libc::PATH_MAX as usize).min(length as usize)),
    );
    if done <= 0 {
        return ptr::null_mut();
    }
    let length = done as usize;
    if into.is_null() {
        return libc::strdup(place.cast());
    }
    if length > room {
        set_errno(libc::ERANGE);
        return ptr::null_mut();
    }
    ptr::copy_nonoverlapping(place.cast::<c_void>(), into.cast(), length);
    into
}
