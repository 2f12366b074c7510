//! The start of a process, and its end if it ends by itself.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use delaylab_calls::Call;

use super::{identity, streams};
use crate::asked::bare;
use crate::gate::{Mode, mode};
use crate::sys::{end, next};
use crate::{player, recorder};

static CODE: AtomicI32 = AtomicI32::new(0);
static ENDED: AtomicBool = AtomicBool::new(false);

/// Runs before the program's `main`, if no other library's start has called something before.
#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = {
    extern "C" fn init() {
        mode();
        // SAFETY: one thread runs, and the program has not begun.
        unsafe {
            identity::own_random();
            streams::begin();
        }
    }
    init
};

/// Runs after the program's own functions for its end.
#[used]
#[unsafe(link_section = ".fini_array")]
static FINI: extern "C" fn() = {
    extern "C" fn fini() {
        streams::end();
        note();
    }
    fini
};

fn note() {
    if ENDED.swap(true, Ordering::Relaxed) {
        return;
    }
    let code = i64::from(CODE.load(Ordering::Relaxed));
    match mode() {
        Mode::Record => recorder::note_entry(&bare(Call::End, -1, code)),
        Mode::Replay => player::ends(),
        Mode::Unknown | Mode::Through => {}
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn exit(code: c_int) -> ! {
    CODE.store(code, Ordering::Relaxed);
    let real: unsafe extern "C" fn(c_int) -> ! = next("exit\0");
    real(code)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(code: c_int) -> ! {
    CODE.store(code, Ordering::Relaxed);
    note();
    end(code)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Exit(code: c_int) -> ! {
    _exit(code)
}
