//! Waits of a process that was stopped and goes on.

use std::ffi::c_int;
use std::io;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Let waits with a timeout end when this process goes on after a stop (`SIGCONT`), as by any signal. The kernel would
/// go on with such a wait for the time that was left at the stop: what is due meanwhile would be later by that. Reads
/// and writes go on by themselves.
pub fn end_waits_then() -> io::Result<()> {
    extern "C" fn nothing(_: c_int) {}
    let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing.
    unsafe { sigaction(Signal::SIGCONT, &action) }?;
    Ok(())
}

/// Leave it to the other threads of this process to notice that it goes on: whichever thread notices it first is the only
/// one whose wait ends.
pub fn leave_to_others() -> io::Result<()> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGCONT);
    Ok(set.thread_block()?)
}
