//! The baton: of a program's threads only the one that holds it runs, and all others wait in a call.
//!
//! A thread hands it on where it waits for something: for packets, for a time, for another thread. So what threads do to
//! the memory that they share has an order, that of their calls in the log, and a replay has the same. A program with
//! one thread needs none.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::lock;
use crate::mode::{self, Mode};
use crate::sys::{futex_wait, futex_wake};

/// The time after which the baton is taken from a recorded thread that neither makes a call nor hands it on, in ms: it
/// may wait for another one by something that this library does not see.
const LONG_MS: i64 = 1000;

/// The number of the thread that holds it plus one; 0 if none does.
static HOLDER: AtomicU32 = AtomicU32::new(0);
/// Counts how often it was handed on.
static HANDED: AtomicU32 = AtomicU32::new(0);

fn own() -> u32 {
    u32::from(lock::thread()) + 1
}

/// Return true if there are threads to order.
fn is_needed() -> bool {
    lock::has_threads() && matches!(mode::now(), Mode::Record | Mode::Replay)
}

/// Return true if the running thread holds it now, because nobody did or because it did already.
pub(crate) fn try_take() -> bool {
    if !lock::has_threads() {
        return true;
    }
    let own = own();
    HOLDER.load(Ordering::Acquire) == own
        || HOLDER.compare_exchange(0, own, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Take it; wait for it if another thread holds it.
pub(crate) fn take() {
    while is_needed() {
        let handed = HANDED.load(Ordering::Acquire);
        if try_take() {
            return;
        }
        let waited = futex_wait(&HANDED, handed, Some(LONG_MS));
        let is_stuck = waited == -i64::from(libc::ETIMEDOUT)
            && HANDED.load(Ordering::Acquire) == handed
            && mode::now() == Mode::Record;
        if is_stuck {
            HOLDER.store(own(), Ordering::Release);
            return;
        }
    }
}

/// Hand it on, if the running thread holds it.
pub(crate) fn give() {
    if !lock::has_threads() {
        return;
    }
    if HOLDER.compare_exchange(own(), 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        HANDED.fetch_add(1, Ordering::Release);
        futex_wake(&HANDED, i32::MAX);
        if mode::now() == Mode::Replay {
            lock::turn_is_over();
        }
    }
}

/// Return how often it was handed on so far.
pub(crate) fn handed() -> u32 {
    HANDED.load(Ordering::Acquire)
}

/// Wait until another thread hands it on, after the running one did when it was handed on `before` times.
pub(crate) fn wait_for_others(before: u32) -> i64 {
    futex_wait(&HANDED, before.wrapping_add(1), Some(LONG_MS));
    0
}

/// Do something that waits while other threads run.
pub(crate) fn without<T>(wait: impl FnOnce() -> T) -> T {
    give();
    let done = wait();
    take();
    done
}
