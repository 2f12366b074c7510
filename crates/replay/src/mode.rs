//! The mode of the library: calls pass, are recorded, or are replayed.

use core::cell::Cell;
use core::sync::atomic::{AtomicU8, Ordering};

/// The things that are done with calls.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    /// It is not known yet.
    Unknown,
    /// They are made, and that is all.
    Through,
    Record,
    Replay,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Unknown as u8);

pub(crate) fn set_mode(mode: Mode) {
    MODE.store(mode as u8, Ordering::Release);
}

thread_local! {
    static IS_ASIDE: Cell<bool> = const { Cell::new(false) };
}

/// Do something of which the calls pass, whatever is done with others.
pub(crate) fn aside<T>(what: impl FnOnce() -> T) -> T {
    IS_ASIDE.with(|it| it.set(true));
    let done = what();
    IS_ASIDE.with(|it| it.set(false));
    done
}

/// Return what is done with calls, if it is known.
pub(crate) fn now() -> Mode {
    if IS_ASIDE.with(Cell::get) {
        return Mode::Through;
    }
    match MODE.load(Ordering::Acquire) {
        0 => Mode::Unknown,
        1 => Mode::Through,
        2 => Mode::Record,
        _ => Mode::Replay,
    }
}
