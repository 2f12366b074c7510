//! The reader of the log, which answers calls.

use core::slice;

use delaylab_calls::{Call, Decoded, Decoder, Entry};

use crate::asked::{Asked, bare};
use crate::baton;
use crate::difference::{self, End};
use crate::lock::{self, Held};
use crate::placeholders::{self, take_place};
use crate::port::{Given, Port};
use crate::recorder::{LIMIT, map, places};
use crate::sys::{open, sys};

/// The time that a thread has to make its next call, in s.
const PATIENCE_S: i64 = 20;
/// The time that other threads have to come to the end of the log, in s.
const END_S: i64 = 2;

static mut LOG: &[u8] = &[];
static mut DECODER: Option<Decoder> = None;
static mut NEXT: Option<Decoded> = None;
static mut CALLS: u64 = 0;
static mut OUTPUTS: u64 = 0;
static mut UNTIL: u64 = u64::MAX;

/// Begin to read the log at a path. `until` is the number of the call before which the replay stops.
#[allow(static_mut_refs)]
pub(crate) unsafe fn begin(path: *const core::ffi::c_char, until: u64) {
    let fd = open(path, libc::O_RDONLY);
    let length = sys!(SYS_lseek, fd, 0, libc::SEEK_END);
    let memory = map(fd, libc::PROT_READ);
    if memory.is_null() || length < 0 || length > LIMIT as i64 {
        difference::end(End::Damaged, 0, 0, format_args!("the log cannot be read"));
    }
    sys!(SYS_close, fd);
    LOG = slice::from_raw_parts(memory, length as usize);
    match Decoder::new(LOG) {
        Ok(decoder) => DECODER = Some(decoder),
        Err(damage) => difference::end(End::Damaged, 0, 0, format_args!("{damage}")),
    }
    UNTIL = until;
    placeholders::begin();
    advance();
}

/// Return the first entry of the log, and go on to the next one.
pub(crate) unsafe fn first() -> Entry<'static> {
    match entry() {
        Some(found) if found.call == Call::Start => {
            advance();
            found
        }
        _ => difference::end(End::Damaged, 0, 0, format_args!("it does not begin with a process")),
    }
}

/// Return the bytes of the next entry; None at the end.
#[allow(static_mut_refs)]
unsafe fn entry() -> Option<Entry<'static>> {
    let decoder = DECODER.as_ref()?;
    NEXT.as_ref().map(|next| decoder.entry(next, LOG))
}

#[allow(static_mut_refs)]
unsafe fn advance() {
    let Some(decoder) = &mut DECODER else { return };
    match decoder.next(LOG) {
        Ok(next) => NEXT = next,
        Err(damage) => {
            let at = decoder.position();
            difference::end(
                End::Damaged,
                CALLS,
                OUTPUTS,
                format_args!("the log is damaged at byte {at}: {damage}"),
            );
        }
    }
}

/// Wait until the log's next call is one of this thread, and return it. The end of the log ends the process.
unsafe fn turn(call: Call, fd: i32) -> (Held, Entry<'static>) {
    let mut held = lock::hold();
    loop {
        let next = entry();
        let is_last = next.is_none_or(|it| it.call == Call::End);
        // A call that was under way when the process ended is not in the log: others may still come to that end.
        let is_own = next.is_none_or(|it| it.thread == lock::thread());
        if is_last && is_own && (next.is_some() || !lock::has_threads()) {
            at_end(call, fd);
        }
        if let Some(entry) = next
            && is_own
            && baton::try_take()
        {
            return (held, entry);
        }
        if !is_own || is_last {
            baton::give();
        }
        match held.give_turn(if is_last { END_S } else { PATIENCE_S }) {
            Some(again) => held = again,
            None if is_last => at_end(call, fd),
            None => no_turn(call),
        }
    }
}

/// End the process: the log has no more calls, and the program makes one.
unsafe fn at_end(call: Call, fd: i32) -> ! {
    difference::end(End::Log, CALLS, OUTPUTS, format_args!("{} (descriptor {fd})", call.name()))
}

/// End the process: the thread whose turn it is makes no call.
unsafe fn no_turn(call: Call) -> ! {
    let (number, own) = (CALLS + 1, lock::thread());
    let (name, thread) = entry().map_or(("nothing", 0), |it| (it.call.name(), it.thread));
    let text = format_args!(
        "call {number}: recorded {name} in thread {thread}, which makes no call (thread {own} waits in {})",
        call.name()
    );
    difference::end(End::Differs, CALLS, OUTPUTS, text)
}

/// Compare a call with the recorded one, and pass on to the next.
#[allow(static_mut_refs)]
unsafe fn compare(asked: &Entry<'_>, entry: &Entry<'_>) {
    if CALLS + 1 >= UNTIL {
        difference::stop(CALLS, OUTPUTS, entry);
        UNTIL = u64::MAX;
    }
    if entry.call != asked.call || entry.fd != asked.fd || entry.given != asked.given {
        difference::differs(CALLS, OUTPUTS, entry, asked);
    }
    CALLS += 1;
    OUTPUTS += u64::from(entry.call.is_output());
    difference::count(CALLS, OUTPUTS);
}

/// Answer a call: compare what is given, and pass what was got.
pub(crate) fn answer(
    asked: &Asked,
    give: impl FnOnce(&mut Given),
    get: impl FnOnce(&mut Port, i64),
) -> i64 {
    // SAFETY: the lock is held.
    unsafe {
        let (held, entry) = turn(asked.call, asked.fd);
        let (one, other) = places();
        let mut given = Given::new(one);
        give(&mut given);
        compare(&Entry { given: given.taken(), ..bare(asked.call, asked.fd, 0) }, &entry);
        let result = entry.result;
        if result >= 0 && entry.got.len() <= other.len() {
            let got = &mut other[..entry.got.len()];
            got.copy_from_slice(entry.got);
            let mut port = Port::replaying(got);
            get(&mut port, result);
            if port.over {
                let calls = CALLS;
                let text = format_args!("call {calls} has fewer bytes than its result says");
                difference::end(End::Damaged, calls, OUTPUTS, text);
            }
            if asked.makes {
                take_place(result as i32);
            }
        }
        advance();
        drop(held);
        lock::turn_is_over();
        result
    }
}

/// Answer a reading of a clock, in ns.
pub(crate) fn answer_time(call: Call, id: i32) -> i64 {
    // SAFETY: the lock is held.
    unsafe {
        let (held, entry) = turn(call, id);
        compare(&bare(call, id, 0), &entry);
        let time = entry.time;
        advance();
        drop(held);
        lock::turn_is_over();
        time
    }
}

/// Return the signal whose handler ran next in this thread, with what was known of it.
pub(crate) fn signal() -> Option<(i32, &'static [u8])> {
    // SAFETY: the lock is held.
    unsafe {
        let held = lock::hold();
        let entry = entry()?;
        if entry.call != Call::Signal || entry.thread != lock::thread() {
            return None;
        }
        compare(&Entry { ..entry }, &entry);
        advance();
        drop(held);
        lock::turn_is_over();
        Some((entry.fd, entry.got))
    }
}

/// Note that the process ends by itself: as recorded, or while calls are left in the log.
pub(crate) fn ends() {
    // SAFETY: the lock is held.
    unsafe {
        let held = lock::hold();
        match entry() {
            Some(entry) if entry.call != Call::End => {
                difference::differs(CALLS, OUTPUTS, &entry, &bare(Call::End, -1, 0));
            }
            _ => difference::ends(CALLS, OUTPUTS),
        }
        drop(held);
    }
}
