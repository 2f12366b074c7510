//! The gate that each call passes: made and recorded, or answered from the log.

use delaylab_calls::Call;

pub(crate) use crate::asked::{Asked, asked, making};
pub(crate) use crate::mode::Mode;
use crate::port::{Given, Port};
use crate::{baton, lock, mode, player, recorder, signals, start, sys};

/// Return what is done with calls; find it out at the first one.
pub(crate) fn mode() -> Mode {
    match mode::now() {
        Mode::Unknown => start::begin(),
        known => known,
    }
}

/// Return true if other threads run while a call is made: it waits for something.
fn may_wait(asked: &Asked) -> bool {
    lock::has_threads()
        && match asked.call {
            Call::Poll
            | Call::Select
            | Call::EpollWait
            | Call::Nanosleep
            | Call::Waitpid
            | Call::Wait => true,
            call if call.is_input() => sys::is_blocked(asked.fd, libc::POLLIN),
            call if call.is_output() => sys::is_blocked(asked.fd, libc::POLLOUT),
            _ => false,
        }
}

/// Pass a call: `given` writes what the program gives, `real` makes the call, `got` passes what it has put into the
/// program's memory if it succeeds. Return the result, or -1 with `errno`, as the C library does.
pub(crate) fn pass(
    asked: Asked,
    given: impl FnOnce(&mut Given),
    real: impl FnOnce() -> i64,
    got: impl FnOnce(&mut Port, i64),
) -> i64 {
    let result = match mode() {
        Mode::Record => {
            baton::take();
            let result = if may_wait(&asked) { baton::without(real) } else { real() };
            let came = signals::take();
            recorder::note(&asked, given, result, got, came.known());
            came.handle();
            result
        }
        Mode::Replay => {
            let result = player::answer(&asked, given, got);
            signals::replayed().handle();
            result
        }
        Mode::Unknown | Mode::Through => real(),
    };
    if result < 0 && result > -4096 {
        sys::set_errno(-result as i32);
        return -1;
    }
    result
}

/// Pass a call that gives nothing but numbers and gets nothing but its result.
pub(crate) fn pass_numbers(asked: Asked, numbers: &[i64], real: impl FnOnce() -> i64) -> i64 {
    pass(asked, |given| numbers.iter().for_each(|it| given.number(*it)), real, |_, _| {})
}

/// Pass a reading of a clock: `clock` returns the time in ns, or minus an error's number.
pub(crate) fn pass_time(call: Call, id: i32, clock: impl FnOnce() -> i64) -> i64 {
    match mode() {
        Mode::Record => {
            baton::take();
            let time = clock();
            let came = signals::take();
            recorder::note_time(call, id, time, came.known());
            came.handle();
            time
        }
        Mode::Replay => {
            let time = player::answer_time(call, id);
            signals::replayed().handle();
            time
        }
        Mode::Unknown | Mode::Through => clock(),
    }
}
