//! A lock of all threads, and the number of the running thread.

use core::cell::Cell;
use core::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use crate::sys::{futex_wait, futex_wake};

thread_local! {
    static NUMBER: Cell<u16> = const { Cell::new(0) };
}

/// Return the running thread's number: 0 for the first, others in the order of their starts.
pub(crate) fn thread() -> u16 {
    NUMBER.with(Cell::get)
}

pub(crate) fn set_thread(number: u16) {
    NUMBER.with(|it| it.set(number));
}

/// The number of threads that have begun.
static BEGUN: AtomicU16 = AtomicU16::new(1);

/// Return the number of a thread that begins.
pub(crate) fn next_thread() -> u16 {
    BEGUN.fetch_add(1, Ordering::Relaxed)
}

/// Return true if the program has begun other threads than its first.
pub(crate) fn has_threads() -> bool {
    BEGUN.load(Ordering::Relaxed) > 1
}

/// 0 free, 1 held, 2 held and waited for.
static STATE: AtomicU32 = AtomicU32::new(0);
/// Counts the calls of a replay: threads wait for it to change.
static TURN: AtomicU32 = AtomicU32::new(0);

/// The lock, held until it is dropped.
pub(crate) struct Held(());

pub(crate) fn hold() -> Held {
    if STATE.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        while STATE.swap(2, Ordering::Acquire) != 0 {
            futex_wait(&STATE, 2, None);
        }
    }
    Held(())
}

impl Drop for Held {
    fn drop(&mut self) {
        if STATE.swap(0, Ordering::Release) == 2 {
            futex_wake(&STATE, 1);
        }
    }
}

impl Held {
    /// Let others go on until one of them says that its turn is over. Return None if none does within a time.
    pub(crate) fn give_turn(self, seconds: i64) -> Option<Held> {
        let turn = TURN.load(Ordering::Acquire);
        drop(self);
        let waited = futex_wait(&TURN, turn, Some(seconds * 1000));
        (waited != -i64::from(libc::ETIMEDOUT)).then(hold)
    }
}

/// Tell waiting threads that a call was made.
pub(crate) fn turn_is_over() {
    TURN.fetch_add(1, Ordering::Release);
    futex_wake(&TURN, i32::MAX);
}
