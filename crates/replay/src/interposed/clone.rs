//! Threads and processes that a program starts.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};

use delaylab_calls::Call;

use crate::baton;
use crate::gate::{Mode, asked, mode, pass};
use crate::lock;
use crate::mode::set_mode;
use crate::sys::{next, returned};

type Run = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// The function that a new thread begins with, and its argument.
struct Begin(UnsafeCell<(Option<Run>, *mut c_void)>);
// SAFETY: each is written before its thread starts, and read by that thread alone.
unsafe impl Sync for Begin {}

const THREADS: usize = 256;
static BEGIN: [Begin; THREADS] =
    [const { Begin(UnsafeCell::new((None, core::ptr::null_mut()))) }; THREADS];

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    run: Run,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        Run,
        *mut c_void,
    ) -> c_int;
    let real: Create = next("pthread_create\0");
    if matches!(mode(), Mode::Through | Mode::Unknown) {
        return real(thread, attributes, run, argument);
    }
    let number = lock::next_thread();
    let Some(begin) = BEGIN.get(usize::from(number)) else {
        return libc::EAGAIN;
    };
    *begin.0.get() = (Some(run), argument);
    // The new thread runs once this one waits for something.
    baton::take();
    real(thread, attributes, first, usize::from(number) as *mut c_void)
}

unsafe extern "C" fn first(number: *mut c_void) -> *mut c_void {
    let number = number as usize;
    lock::set_thread(number as u16);
    let (run, argument) = *BEGIN[number].0.get();
    pass(asked(Call::Thread, -1), |_| {}, || 0, |_, _| {});
    let result = run.map_or(core::ptr::null_mut(), |run| run(argument));
    baton::give();
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> libc::pid_t {
    let real: unsafe extern "C" fn() -> libc::pid_t = next("fork\0");
    let call = || {
        let result = returned(real().into());
        if result == 0 {
            // The child is not recorded.
            set_mode(Mode::Through);
        }
        result
    };
    if mode() == Mode::Record {
        let result = call();
        if result == 0 {
            return 0;
        }
        return pass(asked(Call::Fork, -1), |_| {}, || result, |_, _| {}) as libc::pid_t;
    }
    pass(asked(Call::Fork, -1), |_| {}, call, |_, _| {}) as libc::pid_t
}
