//! Signals: their handlers run after a recorded call, where a replay runs them again.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use crate::mode::{self, Mode};
use crate::player;
use crate::sys::sys;

/// Signals by the program's own instructions: their handlers run at once, in a replay as well.
const FAULTS: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
];
/// One more than the largest signal (_NSIG).
const SIGNALS: usize = 65;
/// The first bytes of a siginfo: number, error, code, and the sender or the timer.
const KNOWN: usize = 48;

static mut HANDLERS: [Option<libc::sigaction>; SIGNALS] = [None; SIGNALS];
static mut INFOS: [MaybeUninit<libc::siginfo_t>; SIGNALS] = [MaybeUninit::zeroed(); SIGNALS];
/// The interrupted context that handlers get: they run after a call, so there is none.
static mut CONTEXT: MaybeUninit<libc::ucontext_t> = MaybeUninit::zeroed();

thread_local! {
    /// A bit for each signal that came and whose handler has not run.
    static PENDING: Cell<u64> = const { Cell::new(0) };
}

/// Return true for a signal whose handler is put off until after a call.
pub(crate) fn is_put_off(signal: c_int) -> bool {
    (1..SIGNALS as c_int).contains(&signal) && !FAULTS.contains(&signal)
}

/// Return the program's handler of a signal.
pub(crate) fn handler(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: handlers are set by one thread at a time.
    unsafe { HANDLERS[signal as usize] }
}

/// Keep the program's handler of a signal. Return what the system is given in its place.
pub(crate) fn keep(signal: c_int, new: &libc::sigaction) -> libc::sigaction {
    let has_handler = new.sa_sigaction != libc::SIG_DFL && new.sa_sigaction != libc::SIG_IGN;
    // SAFETY: as above.
    unsafe { HANDLERS[signal as usize] = has_handler.then_some(*new) };
    let mut given = *new;
    if has_handler {
        given.sa_sigaction = came as *const () as usize;
        given.sa_flags = (given.sa_flags | libc::SA_SIGINFO) & !libc::SA_RESETHAND;
    }
    given
}

/// Note a signal. This runs at any moment: it calls nothing.
unsafe extern "C" fn came(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    INFOS[signal as usize] = MaybeUninit::new(*info);
    PENDING.with(|it| it.set(it.get() | 1 << (signal - 1)));
}

/// Signals whose handlers run after a call.
pub(crate) struct Came {
    signals: [c_int; SIGNALS],
    infos: [[u8; KNOWN]; SIGNALS],
    count: usize,
}

impl Came {
    const NONE: Self = Self { signals: [0; SIGNALS], infos: [[0; KNOWN]; SIGNALS], count: 0 };

    fn add(&mut self, signal: c_int, info: &[u8]) {
        if self.count < SIGNALS {
            self.signals[self.count] = signal;
            let length = info.len().min(KNOWN);
            self.infos[self.count][..length].copy_from_slice(&info[..length]);
            self.count += 1;
        }
    }

    /// Return each signal, with what is known of it.
    pub(crate) fn known(&self) -> impl Iterator<Item = (c_int, &[u8])> {
        self.signals.iter().copied().zip(self.infos.iter().map(|it| &it[..])).take(self.count)
    }

    /// Run the handlers.
    pub(crate) fn handle(&self) {
        for (signal, bytes) in self.known() {
            let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
            // SAFETY: a siginfo is longer than what is known of it.
            unsafe {
                ptr::copy_nonoverlapping(bytes.as_ptr(), info.as_mut_ptr().cast(), bytes.len());
                run(signal, info);
            }
        }
    }
}

/// Take the signals that came to this thread.
pub(crate) fn take() -> Came {
    let mut came = Came::NONE;
    let mut pending = PENDING.with(|it| it.replace(0));
    while pending != 0 {
        let signal = pending.trailing_zeros() as c_int + 1;
        pending &= pending - 1;
        // SAFETY: the signal came, so its information is there.
        let info = unsafe {
            let info = INFOS[signal as usize];
            core::slice::from_raw_parts(info.as_ptr().cast::<u8>(), KNOWN).try_into()
        };
        came.add(signal, &info.unwrap_or([0; KNOWN]));
    }
    came
}

/// Return the signals that came here when the process was recorded.
pub(crate) fn replayed() -> Came {
    let mut came = Came::NONE;
    while let Some((signal, info)) = player::signal() {
        came.add(signal, info);
    }
    came
}

#[allow(static_mut_refs)]
unsafe fn run(signal: c_int, mut info: MaybeUninit<libc::siginfo_t>) {
    let Some(Some(handler)) = HANDLERS.get(signal as usize).copied() else { return };
    let errno = crate::sys::errno();
    if handler.sa_flags & libc::SA_SIGINFO != 0 {
        type Full = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        let call: Full = core::mem::transmute(handler.sa_sigaction);
        call(signal, info.as_mut_ptr(), CONTEXT.as_mut_ptr().cast());
    } else {
        let call: unsafe extern "C" fn(c_int) = core::mem::transmute(handler.sa_sigaction);
        call(signal);
    }
    crate::sys::set_errno(errno);
}

/// Make a call that waits, with a signal mask that holds while it waits (NULL: the present one). A signal that came
/// before ends it at once.
pub(crate) fn waiting(mask: *const u64, call: impl FnOnce(*const u64) -> i64) -> i64 {
    if mode::now() != Mode::Record {
        return call(mask);
    }
    let all = !0u64;
    let mut before = 0u64;
    sys!(SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const all, &raw mut before, 8);
    let result = if PENDING.with(Cell::get) != 0 {
        -i64::from(libc::EINTR)
    } else {
        call(if mask.is_null() { &raw const before } else { mask })
    };
    sys!(SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const before, ptr::null::<u64>(), 8);
    result
}
