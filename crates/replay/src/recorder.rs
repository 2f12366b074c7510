//! The writer of the log: a file in memory, so that it is whole when the process dies at any moment.

use core::ptr;
use core::slice;

use delaylab_calls::{CUT_AT, Call, Encoder, Entry, HEADER, LENGTH_AT, header};

use crate::asked::{Asked, bare};
use crate::lock;
use crate::mode::{Mode, set_mode};
use crate::placeholders::HIGH;
use crate::port::{Given, MOST, Port};
use crate::sys::sys;

/// The most bytes of a log. The address space is taken at once: the log then never moves.
pub(crate) const LIMIT: usize = 1 << 30;
/// The bytes by which the file grows.
const STEP: usize = 1 << 20;

struct Log {
    fd: i64,
    memory: *mut u8,
    length: usize,
    grown: usize,
}

static mut LOG: Log = Log { fd: -1, memory: ptr::null_mut(), length: 0, grown: 0 };
static mut ENCODER: Option<Encoder> = None;
static mut GIVEN: [u8; MOST] = [0; MOST];
static mut GOT: [u8; MOST] = [0; MOST];

/// Return the two places for a call's bytes. The lock is held.
#[allow(static_mut_refs)]
pub(crate) unsafe fn places() -> (&'static mut [u8], &'static mut [u8]) {
    (&mut GIVEN[..], &mut GOT[..])
}

/// Begin the log at a path. Return false if that cannot be done.
#[allow(static_mut_refs)]
pub(crate) unsafe fn begin(path: *const core::ffi::c_char, encoder: Encoder) -> bool {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
    let opened = sys!(SYS_openat, libc::AT_FDCWD, path, flags, 0o600);
    if opened < 0 {
        return false;
    }
    let high = sys!(SYS_fcntl, opened, libc::F_DUPFD_CLOEXEC, HIGH);
    let fd = if high < 0 { opened } else { high };
    if high >= 0 {
        sys!(SYS_close, opened);
    }
    LOG.fd = fd;
    LOG.memory = map(fd, libc::PROT_READ | libc::PROT_WRITE);
    ENCODER = Some(encoder);
    if LOG.memory.is_null() || !grow(STEP) {
        return false;
    }
    slice::from_raw_parts_mut(LOG.memory, HEADER).copy_from_slice(&header(HEADER));
    LOG.length = HEADER;
    true
}

/// Map the log's file. Return null if that fails.
pub(crate) fn map(fd: i64, protection: i32) -> *mut u8 {
    let place = sys!(SYS_mmap, 0, LIMIT, protection, libc::MAP_SHARED | libc::MAP_NORESERVE, fd, 0);
    if (-4095..0).contains(&place) { ptr::null_mut() } else { place as *mut u8 }
}

/// Give the file more room on its disk. Return false if there is none.
unsafe fn grow(bytes: usize) -> bool {
    let more = bytes.next_multiple_of(STEP);
    #[allow(static_mut_refs)]
    if LOG.grown + more > LIMIT || sys!(SYS_fallocate, LOG.fd, 0, LOG.grown, more) < 0 {
        return false;
    }
    LOG.grown += more;
    true
}

/// Write a call that was made, and the signals that are handled after it.
pub(crate) fn note<'s>(
    asked: &Asked,
    give: impl FnOnce(&mut Given),
    result: i64,
    get: impl FnOnce(&mut Port, i64),
    signals: impl Iterator<Item = (i32, &'s [u8])>,
) {
    let errno = crate::sys::errno();
    let held = lock::hold();
    // SAFETY: the lock is held, and the places are used by one call at a time.
    let (mut given, mut got) = unsafe {
        let (one, other) = places();
        (Given::new(one), Port::recording(other))
    };
    give(&mut given);
    if result >= 0 {
        get(&mut got, result);
    }
    if given.over || got.over {
        end();
    } else {
        let (given, got) = (given.taken(), got.taken());
        write(&Entry { given, got, ..bare(asked.call, asked.fd, result) });
    }
    write_signals(signals);
    drop(held);
    crate::sys::set_errno(errno);
}

/// Write a reading of a clock.
pub(crate) fn note_time<'s>(
    call: Call,
    id: i32,
    time: i64,
    signals: impl Iterator<Item = (i32, &'s [u8])>,
) {
    let held = lock::hold();
    write(&Entry { time, ..bare(call, id, time.min(0)) });
    write_signals(signals);
    drop(held);
}

/// Write the signals that are handled after a call, *because* no call of another thread may come between.
fn write_signals<'s>(signals: impl Iterator<Item = (i32, &'s [u8])>) {
    for (signal, got) in signals {
        write(&Entry { got, ..bare(Call::Signal, signal, 0) });
    }
}

/// Write an entry.
pub(crate) fn note_entry(entry: &Entry<'_>) {
    let held = lock::hold();
    write(entry);
    drop(held);
}

#[allow(static_mut_refs)]
fn write(entry: &Entry<'_>) {
    // SAFETY: the lock is held; the memory is as long as the file.
    unsafe {
        let Some(encoder) = &mut ENCODER else { return };
        let most = Encoder::most(entry);
        if LOG.length + most > LOG.grown && !grow(most) {
            return end();
        }
        let place = slice::from_raw_parts_mut(LOG.memory.add(LOG.length), most);
        LOG.length += encoder.encode(entry, place);
        // Last: a process that dies here leaves a log of whole entries.
        LOG.memory.add(LENGTH_AT).cast::<u64>().write_volatile((LOG.length as u64).to_le());
    }
}

/// End the recording: the log is full, or a call is larger than any that is recorded. The log says so.
fn end() {
    // SAFETY: the lock is held, and the log has a header.
    unsafe { LOG.memory.add(CUT_AT).write_volatile(1) };
    set_mode(Mode::Through);
}
