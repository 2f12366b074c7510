//! Waits of threads for each other. A lock that is free is taken without a word: its order follows from the baton.

use core::ffi::{c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use delaylab_calls::Call;
use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, sem_t, timespec};

use crate::baton;
use crate::gate::{Mode, asked, mode, pass};
use crate::lock;
use crate::sys::{self, next};

/// Return the C library's function of a name, which is looked up once.
macro_rules! real {
    ($name:literal as $kind:ty) => {{
        static FOUND: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
        let mut found = FOUND.load(Ordering::Relaxed);
        if found.is_null() {
            found = next::<*mut c_void>(concat!($name, "\0"));
            FOUND.store(found, Ordering::Relaxed);
        }
        core::mem::transmute::<*mut c_void, $kind>(found)
    }};
}

type OnMutex = unsafe extern "C" fn(*mut pthread_mutex_t) -> c_int;
type OnRwlock = unsafe extern "C" fn(*mut pthread_rwlock_t) -> c_int;
type OnSemaphore = unsafe extern "C" fn(*mut sem_t) -> c_int;

fn is_ordered() -> bool {
    lock::has_threads() && matches!(mode(), Mode::Record | Mode::Replay)
}

/// Pass a wait for another thread. `recorded` waits; a replay waits for its turn in the log alone, and returns what the
/// recorded thread got.
fn passed(recorded: impl FnOnce() -> i64) -> c_int {
    pass(asked(Call::Wait, -1), |_| {}, recorded, |_, _| {}) as c_int
}

/// Take a lock: at once if it is free, else when another thread has run. It is tried again and not waited for, *because*
/// a thread that got it while another one runs would be in no order with that one.
fn locked(attempt: impl Fn() -> c_int, lock: impl Fn() -> c_int, busy: c_int) -> c_int {
    if !is_ordered() {
        return alone(attempt, lock, busy);
    }
    loop {
        let done = attempt();
        if done != busy || !is_ordered() {
            return if done == busy { lock() } else { done };
        }
        let now = baton::handed();
        passed(|| baton::wait_for_others(now));
    }
}

/// Take a lock in a program of one thread: it waits for a handler or for another process, and a replay for nobody.
fn alone(attempt: impl Fn() -> c_int, lock: impl Fn() -> c_int, busy: c_int) -> c_int {
    if !matches!(mode(), Mode::Record | Mode::Replay) {
        return lock();
    }
    let done = attempt();
    if done != busy {
        return done;
    }
    let done = passed(|| sys::returned(lock().into()));
    if mode() == Mode::Replay && done == 0 {
        attempt();
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    let (attempt, lock) =
        (real!("pthread_mutex_trylock" as OnMutex), real!("pthread_mutex_lock" as OnMutex));
    locked(|| attempt(mutex), || lock(mutex), libc::EBUSY)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_rdlock(of: *mut pthread_rwlock_t) -> c_int {
    let (attempt, lock) =
        (real!("pthread_rwlock_tryrdlock" as OnRwlock), real!("pthread_rwlock_rdlock" as OnRwlock));
    locked(|| attempt(of), || lock(of), libc::EBUSY)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_wrlock(of: *mut pthread_rwlock_t) -> c_int {
    let (attempt, lock) =
        (real!("pthread_rwlock_trywrlock" as OnRwlock), real!("pthread_rwlock_wrlock" as OnRwlock));
    locked(|| attempt(of), || lock(of), libc::EBUSY)
}

/// The number of places for conditions, which share them by their addresses.
const PLACES: usize = 256;
/// Counts the signals of each place's conditions.
static SIGNALS: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];
/// True where a condition's times are of the monotonic clock.
static MONOTONIC: [AtomicBool; PLACES] = [const { AtomicBool::new(false) }; PLACES];

fn place(of: *const pthread_cond_t) -> usize {
    (of as usize >> 4) % PLACES
}

/// Wait for a condition, or for one that shares its place: whoever waits looks again what is true. The mutex is free
/// meanwhile, and is taken only when the thread has its turn again.
unsafe fn waited(
    on: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    let signals = &SIGNALS[place(on)];
    let before = signals.load(Ordering::Acquire);
    let unlock = real!("pthread_mutex_unlock" as OnMutex);
    let done = unlock(mutex);
    if done != 0 {
        return done;
    }
    let done = passed(|| match sys::futex_wait_until(signals, before, clock, until) {
        // As a result, and not as an error: these functions have no `errno`.
        error if error == -i64::from(libc::ETIMEDOUT) => libc::ETIMEDOUT.into(),
        _ => 0,
    });
    pthread_mutex_lock(mutex);
    done
}

fn signal(on: *mut pthread_cond_t) {
    let signals = &SIGNALS[place(on)];
    signals.fetch_add(1, Ordering::Release);
    sys::futex_wake(signals, i32::MAX);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_init(
    on: *mut pthread_cond_t,
    how: *const libc::pthread_condattr_t,
) -> c_int {
    type Init = unsafe extern "C" fn(*mut pthread_cond_t, *const libc::pthread_condattr_t) -> c_int;
    let real = real!("pthread_cond_init" as Init);
    let mut clock = libc::CLOCK_REALTIME;
    if !how.is_null() {
        libc::pthread_condattr_getclock(how, &raw mut clock);
    }
    MONOTONIC[place(on)].store(clock == libc::CLOCK_MONOTONIC, Ordering::Relaxed);
    real(on, how)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_signal(on: *mut pthread_cond_t) -> c_int {
    type Signal = unsafe extern "C" fn(*mut pthread_cond_t) -> c_int;
    signal(on);
    real!("pthread_cond_signal" as Signal)(on)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_broadcast(on: *mut pthread_cond_t) -> c_int {
    type Signal = unsafe extern "C" fn(*mut pthread_cond_t) -> c_int;
    signal(on);
    real!("pthread_cond_broadcast" as Signal)(on)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_wait(
    on: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    type Wait = unsafe extern "C" fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int;
    if is_ordered() {
        return waited(on, mutex, libc::CLOCK_MONOTONIC, core::ptr::null());
    }
    real!("pthread_cond_wait" as Wait)(on, mutex)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_timedwait(
    on: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    type Wait =
        unsafe extern "C" fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int;
    if is_ordered() {
        let monotonic = MONOTONIC[place(on)].load(Ordering::Relaxed);
        let clock = if monotonic { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
        return waited(on, mutex, clock, until);
    }
    real!("pthread_cond_timedwait" as Wait)(on, mutex, until)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_clockwait(
    on: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    type Wait = unsafe extern "C" fn(
        *mut pthread_cond_t,
        *mut pthread_mutex_t,
        clockid_t,
        *const timespec,
    ) -> c_int;
    if is_ordered() {
        return waited(on, mutex, clock, until);
    }
    real!("pthread_cond_clockwait" as Wait)(on, mutex, clock, until)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: libc::pthread_t, into: *mut *mut c_void) -> c_int {
    type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
    let real = real!("pthread_join" as Join);
    if !is_ordered() {
        return real(thread, into);
    }
    if mode() == Mode::Record {
        return passed(|| real(thread, into).into());
    }
    let done = passed(|| 0);
    // It has ended in the recording, so it ends here.
    if done == 0 { real(thread, into) } else { done }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_wait(on: *mut sem_t) -> c_int {
    let (attempt, real) = (real!("sem_trywait" as OnSemaphore), real!("sem_wait" as OnSemaphore));
    // One that another thread must raise first answers with an error, whatever its number.
    locked(|| attempt(on), || real(on), -1)
}

/// Pass futex(2), if it waits for a word in memory to change: that is a wait for another thread. Return None if not.
pub(crate) unsafe fn futex(all: [i64; 6]) -> Option<c_long> {
    const WAITS: [c_int; 2] = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET];
    let what = all[1] as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    if !WAITS.contains(&what) || !is_ordered() {
        return None;
    }
    let word = all[0] as *const c_uint;
    if word.read_volatile() != all[2] as c_uint {
        // The word has changed already, and nobody waits.
        crate::sys::set_errno(libc::EAGAIN);
        return Some(-1);
    }
    let real = || crate::sys::call(libc::SYS_futex, &all);
    Some(pass(asked(Call::Wait, -1), |_| {}, real, |_, _| {}) as c_long)
}

/// End a thread: another one runs.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_exit(value: *mut c_void) -> ! {
    type Exit = unsafe extern "C" fn(*mut c_void) -> !;
    let real = real!("pthread_exit" as Exit);
    baton::give();
    real(value)
}
