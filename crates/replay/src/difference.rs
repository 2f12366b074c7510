//! The end of a replay, and what is said of it: in a file of one page, which outlives the process.
//!
//! The page: how it ended (u32, [`End`]), the text's length (u32), calls and outputs that were equal (u64 each), text.

use core::fmt::{self, Write};
use core::slice;

use delaylab_calls::{Call, Entry};

use crate::sys::{end as exit, open, sys};

const PAGE: usize = 4096;
const TEXT: usize = 24;
/// The bytes of a call that are shown from the first that differs.
const SHOWN: usize = 16;
/// The exit code of a replay that was stopped by this library.
const CODE: i32 = 86;

static mut STATUS: *mut u8 = core::ptr::null_mut();
static mut TRAPS: bool = false;

/// The end of a replay.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum End {
    /// The log has no more calls.
    Log = 1,
    /// The process did something else than recorded.
    Differs = 2,
    /// It came to the call at which it was to stop.
    Until = 3,
    /// The log is damaged.
    Damaged = 4,
    /// The program, or a library of it, is another one.
    Foreign = 5,
    /// The process ended by itself, as recorded.
    Exit = 6,
}

/// Open the file for the end. With `traps`, a debugger gets the process before it ends.
pub(crate) unsafe fn begin(path: *const core::ffi::c_char, traps: bool) {
    let fd = open(path, libc::O_RDWR);
    let page = sys!(SYS_mmap, 0, PAGE, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd, 0);
    sys!(SYS_close, fd);
    if !(-4095..0).contains(&page) {
        STATUS = page as *mut u8;
    }
    TRAPS = traps;
}

/// A text that is cut where the page ends.
struct Text<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - self.length;
        let part = &text.as_bytes()[..text.len().min(room)];
        self.bytes[self.length..self.length + part.len()].copy_from_slice(part);
        self.length += part.len();
        Ok(())
    }
}

/// Say how the replay ended.
fn say(how: End, calls: u64, outputs: u64, text: fmt::Arguments<'_>) {
    // SAFETY: the page was mapped, and this process alone writes to it.
    unsafe {
        if STATUS.is_null() {
            return;
        }
        let page = slice::from_raw_parts_mut(STATUS, PAGE);
        let (head, rest) = page.split_at_mut(TEXT);
        let mut into = Text { bytes: rest, length: 0 };
        let _ = into.write_fmt(text);
        head[..4].copy_from_slice(&(how as u32).to_le_bytes());
        head[4..8].copy_from_slice(&(into.length as u32).to_le_bytes());
        head[8..16].copy_from_slice(&calls.to_le_bytes());
        head[16..24].copy_from_slice(&outputs.to_le_bytes());
    }
}

/// Keep how many calls and outputs were equal so far: a process may die at any one.
pub(crate) fn count(calls: u64, outputs: u64) {
    // SAFETY: as above.
    unsafe {
        if !STATUS.is_null() {
            STATUS.add(8).cast::<[u64; 2]>().write([calls.to_le(), outputs.to_le()]);
        }
    }
}

/// Say how the replay ended, and end the process.
pub(crate) fn end(how: End, calls: u64, outputs: u64, text: fmt::Arguments<'_>) -> ! {
    say(how, calls, outputs, text);
    trap();
    exit(CODE)
}

/// Note that the process ends by itself.
pub(crate) fn ends(calls: u64, outputs: u64) {
    say(End::Exit, calls, outputs, format_args!(""));
}

/// Stop before a call: in the debugger, after which the process goes on, or for good.
pub(crate) fn stop(calls: u64, outputs: u64, entry: &Entry<'_>) {
    say(End::Until, calls, outputs, format_args!("{}", Shown(entry)));
    trap();
    // SAFETY: set once at the start.
    if unsafe { !TRAPS } {
        exit(CODE);
    }
}

fn trap() {
    // SAFETY: set once at the start.
    if unsafe { TRAPS } {
        let (process, thread) = (sys!(SYS_getpid), sys!(SYS_gettid));
        sys!(SYS_tgkill, process, thread, libc::SIGTRAP);
    }
}

/// Say what differs at a call, and end the process.
pub(crate) fn differs(calls: u64, outputs: u64, recorded: &Entry<'_>, done: &Entry<'_>) -> ! {
    let number = calls + 1;
    if recorded.call != done.call || recorded.fd != done.fd {
        let text =
            format_args!("call {number}: recorded {}, replayed {}", Shown(recorded), Shown(done));
        end(End::Differs, calls, outputs, text);
    }
    let same = recorded.given.iter().zip(done.given).take_while(|(one, other)| one == other);
    let at = same.count();
    let what = Shown(recorded);
    let (one, other) = (Bytes(recorded.given, at), Bytes(done.given, at));
    let text =
        format_args!("call {number}, {what}: from byte {at} on recorded {one}, replayed {other}");
    end(End::Differs, calls, outputs, text);
}

/// A call in words.
struct Shown<'a>(&'a Entry<'a>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry { call, fd, given, .. } = self.0;
        into.write_str(call.name())?;
        if *call == Call::Signal {
            write!(into, " {fd}")?;
        } else if call.is_timed() {
            write!(into, " of clock {fd}")?;
        } else if *fd >= 0 {
            write!(into, " of descriptor {fd}")?;
        }
        if !given.is_empty() {
            write!(into, " with {} bytes", given.len())?;
        }
        Ok(())
    }
}

/// Some bytes from a place on.
struct Bytes<'a>(&'a [u8], usize);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = self.0.get(self.1..).unwrap_or_default();
        if rest.is_empty() {
            return into.write_str("nothing");
        }
        for byte in rest.iter().take(SHOWN) {
            write!(into, "{byte:02x}")?;
        }
        if rest.len() > SHOWN { into.write_str("…") } else { Ok(()) }
    }
}
