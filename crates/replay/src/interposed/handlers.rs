//! Handlers of signals.

use core::ffi::c_int;
use core::mem::zeroed;

use crate::gate::{Mode, mode};
use crate::signals;
use crate::sys::next;

type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let real: Sigaction = next("sigaction\0");
    let now = mode();
    if !matches!(now, Mode::Record | Mode::Replay) || !signals::is_put_off(signal) {
        return real(signal, new, old);
    }
    let before = signals::handler(signal);
    let mut done = 0;
    if !new.is_null() {
        let given = signals::keep(signal, &*new);
        if now == Mode::Record {
            done = real(signal, &raw const given, old);
        } else if !old.is_null() {
            *old = zeroed();
        }
    } else if before.is_none() {
        return real(signal, new, old);
    }
    if let Some(before) = before
        && !old.is_null()
    {
        *old = before;
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    let mut new: libc::sigaction = zeroed();
    let mut old: libc::sigaction = zeroed();
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    if sigaction(number, &raw const new, &raw mut old) < 0 {
        libc::SIG_ERR
    } else {
        old.sa_sigaction
    }
}
