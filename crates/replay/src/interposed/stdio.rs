//! Files that are opened as streams. One that is read is read as a whole, and given from memory; a replay writes none.

use core::ffi::{CStr, c_char};

use delaylab_calls::Call;
use libc::FILE;

use crate::gate::{Mode, asked, mode, pass};
use crate::sys::{errno, next, set_errno};

/// The most bytes of a file that is read as a stream.
const MOST: usize = 4 << 20;

type Open = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut FILE;

#[unsafe(no_mangle)]
unsafe extern "C" fn fopen(path: *const c_char, how: *const c_char) -> *mut FILE {
    let real: Open = next("fopen\0");
    if matches!(mode(), Mode::Through | Mode::Unknown) {
        return real(path, how);
    }
    let words = CStr::from_ptr(how).to_bytes();
    if words.first() == Some(&b'r') && !words.contains(&b'+') {
        read(path, real)
    } else {
        write(path, how, real)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fopen64(path: *const c_char, how: *const c_char) -> *mut FILE {
    fopen(path, how)
}

/// Open a stream to write to: in a replay, one to nowhere.
unsafe fn write(path: *const c_char, how: *const c_char, real: Open) -> *mut FILE {
    let mut stream = core::ptr::null_mut();
    let result = pass(
        asked(Call::Fopen, -1),
        |given| given.text(path),
        || {
            stream = real(path, how);
            if stream.is_null() { -i64::from(errno()) } else { 0 }
        },
        |_, _| {},
    );
    if result == 0 && mode() == Mode::Replay {
        stream = real(c"/dev/null".as_ptr(), how);
    }
    stream
}

/// Open a stream of a file's bytes as they are now. A replay takes and frees memory in the same way.
unsafe fn read(path: *const c_char, real: Open) -> *mut FILE {
    let replays = mode() == Mode::Replay;
    let source = real(if replays { c"/dev/null".as_ptr() } else { path }, c"re".as_ptr());
    let error = errno();
    let copy = if source.is_null() { core::ptr::null_mut() } else { libc::malloc(MOST) };
    let length = if copy.is_null() { 0 } else { libc::fread(copy, 1, MOST, source) };
    let mut stream = core::ptr::null_mut();
    pass(
        asked(Call::Fopen, -1),
        |given| given.text(path),
        || if copy.is_null() { -i64::from(error) } else { length as i64 },
        |port, count| {
            let count = count as usize;
            if count > MOST || copy.is_null() {
                port.over = true;
                return;
            }
            port.memory(copy, count);
            stream = libc::fmemopen(core::ptr::null_mut(), count + 1, c"w+".as_ptr());
            if !stream.is_null() {
                libc::fwrite(copy, 1, count, stream);
                libc::rewind(stream);
            }
        },
    );
    let error = errno();
    if !source.is_null() {
        libc::fclose(source);
    }
    libc::free(copy);
    set_errno(error);
    stream
}
