//! The library that records a process and replays it (docs/record-and-replay.md). It is preloaded (`LD_PRELOAD`), and
//! defines the functions of the C library by which a program gets input or gives output.
//!
//! `DELAYLAB_RECORD=FILE` records the calls of a session's first process into a file. `DELAYLAB_REPLAY=FILE` answers
//! calls from that file, and compares what the process gives with what it gave. Without either, calls pass through.
//!
//! Rules of this crate, which runs inside of another's program:
//! - Nothing is allocated after the start, *because* a call may be made anywhere, and because the heap of the replayed
//!   process must be that of the recorded one.
//! - Real calls are system calls (`sys.rs`), *because* the C library's functions of these names are this library's own.
//! - A signal's handler runs after a recorded call, never within one, *because* it then runs at the same place again.
#![allow(unsafe_code)]
// A function of the C library's interface is unsafe as a whole: its arguments are as the C library demands.
#![allow(unsafe_op_in_unsafe_fn)]
#![allow(clippy::missing_safety_doc)]

// The unwinder that gcc links in asks for this function of glibc 2.35, so that no older one could load the library.
// Nothing unwinds here: a panic ends the process. The symbol is hidden, so that the program keeps glibc's own.
macro_rules! find_no_object {
    ($fail:literal) => {
        std::arch::global_asm!(
            ".globl _dl_find_object",
            ".hidden _dl_find_object",
            ".type _dl_find_object, %function",
            "_dl_find_object:",
            $fail,
            "ret",
        );
    };
}
#[cfg(target_arch = "x86_64")]
find_no_object!("mov eax, -1");
#[cfg(target_arch = "aarch64")]
find_no_object!("mov w0, #-1");

mod asked;
mod baton;
mod difference;
mod gate;
mod interposed;
mod lock;
mod mode;
mod objects;
mod placeholders;
mod player;
mod port;
mod recorder;
mod signals;
mod start;
mod sys;
