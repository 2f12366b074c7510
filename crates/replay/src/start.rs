//! The start: what is to be done is in the environment.

use core::ffi::{CStr, c_char};
use core::fmt::Write;
use core::sync::atomic::{AtomicBool, Ordering};

use delaylab_calls::{Call, Decoder, Encoder, Entry, HEADER, header};

use crate::asked::bare;
use crate::difference::{self, End};
use crate::mode::{Mode, set_mode};
use crate::objects::{self, Lines};
use crate::sys::{read_file, sys};
use crate::{lock, player, recorder};

/// The bit of personality(2) by which addresses are the same at each start.
const ADDR_NO_RANDOMIZE: i64 = 0x0004_0000;
/// The most bytes of a command line, and the most words.
const LINE: usize = 256 << 10;
const WORDS: usize = 4096;

static BEGUN: AtomicBool = AtomicBool::new(false);
static mut COMMAND: [u8; LINE] = [0; LINE];
static mut ABOUT: [u8; LINE] = [0; LINE];

unsafe extern "C" {
    static environ: *const *const c_char;
}

fn variable(name: &CStr) -> *const c_char {
    // SAFETY: the environment is there before any library starts.
    unsafe { libc::getenv(name.as_ptr()) }
}

/// Find out what is to be done, and begin it.
pub(crate) fn begin() -> Mode {
    if BEGUN.swap(true, Ordering::AcqRel) {
        // A call of this library's own while it begins.
        return Mode::Through;
    }
    let (record, replay) = (variable(c"DELAYLAB_RECORD"), variable(c"DELAYLAB_REPLAY"));
    let first = sys!(SYS_getpid) == sys!(SYS_getsid, 0);
    // SAFETY: one thread runs, and each part begins once.
    let mode = unsafe {
        if !replay.is_null() {
            same_addresses();
            let (encoder, decoder) = reserved();
            begin_replay(replay);
            core::mem::forget((encoder, decoder));
            Mode::Replay
        } else if !record.is_null() && first {
            same_addresses();
            let (encoder, decoder) = reserved();
            core::mem::forget(decoder);
            if begin_record(record, encoder) { Mode::Record } else { Mode::Through }
        } else {
            Mode::Through
        }
    };
    set_mode(mode);
    mode
}

/// Reserve memory alike for both, *because* what the program allocates is then at the same addresses.
fn reserved() -> (Encoder, Option<Decoder>) {
    (Encoder::new(), Decoder::new(&header(HEADER)).ok())
}

unsafe fn begin_record(path: *const c_char, encoder: Encoder) -> bool {
    if !recorder::begin(path, encoder) {
        return false;
    }
    let command = command();
    let about = about();
    recorder::note_entry(&Entry {
        given: command,
        got: about,
        ..bare(Call::Start, -1, sys!(SYS_getpid))
    });
    true
}

unsafe fn begin_replay(path: *const c_char) {
    // It does not outlive whoever asked for it.
    sys!(SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    let until = variable(c"DELAYLAB_REPLAY_UNTIL");
    let number = |text: *const c_char| CStr::from_ptr(text).to_str().ok()?.parse().ok();
    let until = if until.is_null() { None } else { number(until) };
    let traps = !variable(c"DELAYLAB_REPLAY_TRAPS").is_null();
    difference::begin(variable(c"DELAYLAB_REPLAY_STATUS"), traps);
    player::begin(path, until.unwrap_or(u64::MAX));
    let recorded = player::first();
    if !traps {
        check_objects(recorded.got);
    }
    lock::set_thread(0);
}

/// End the process unless it consists of the recorded objects. A debugger changes their code: it is not compared then.
unsafe fn check_objects(recorded: &'static [u8]) {
    let lines = |about: &'static [u8]| about.split(|byte| *byte == 0).next().unwrap_or_default();
    for line in lines(about()).split(|byte| *byte == b'\n').map(file_of) {
        let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let mut known = lines(recorded).split(|byte| *byte == b'\n').map(file_of);
        if !known.any(|it| it == line) {
            let name = core::str::from_utf8(name).unwrap_or("?");
            difference::end(End::Foreign, 0, 0, format_args!("{name}"));
        }
    }
}

/// Return an object's line without the folders of its file, *because* a library may be found by another path.
fn file_of(line: &[u8]) -> &[u8] {
    line.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Return the words of the command line, each with a zero at its end.
#[allow(static_mut_refs)]
unsafe fn command() -> &'static [u8] {
    let length = read_file(c"/proc/self/cmdline".as_ptr(), &mut COMMAND);
    &COMMAND[..length.max(0) as usize]
}

/// Return what the process is: the lines of its objects, the path of its file, its variables, each with a zero at its
/// end.
#[allow(static_mut_refs)]
unsafe fn about() -> &'static [u8] {
    let mut lines = Lines { bytes: &mut ABOUT, length: 0 };
    objects::list(&mut lines);
    let _ = lines.write_char('\0');
    let path = own_path();
    lines.put(CStr::from_ptr(path.as_ptr().cast()).to_bytes_with_nul());
    let mut variable = environ;
    while !(*variable).is_null() {
        lines.put(CStr::from_ptr(*variable).to_bytes_with_nul());
        variable = variable.add(1);
    }
    let length = lines.length;
    &ABOUT[..length]
}

/// Return the path of the program's file, with a zero at its end.
unsafe fn own_path() -> [u8; libc::PATH_MAX as usize] {
    let mut path = [0u8; libc::PATH_MAX as usize];
    let own = c"/proc/self/exe".as_ptr();
    sys!(SYS_readlinkat, libc::AT_FDCWD, own, path.as_mut_ptr(), path.len() - 1);
    path
}

/// Run the program again without random addresses, unless it does so now.
unsafe fn same_addresses() {
    let now = sys!(SYS_personality, 0xffff_ffffu32);
    if now & ADDR_NO_RANDOMIZE != 0 || sys!(SYS_personality, now | ADDR_NO_RANDOMIZE) < 0 {
        return;
    }
    let path = own_path();
    let mut words = [core::ptr::null::<c_char>(); WORDS];
    let line = command();
    let mut at = 0;
    for place in words.iter_mut().take(WORDS - 1) {
        if at >= line.len() {
            break;
        }
        *place = line[at..].as_ptr().cast();
        at += line[at..].iter().position(|byte| *byte == 0).map_or(line.len(), |it| it + 1);
    }
    sys!(SYS_execve, path.as_ptr(), words.as_ptr(), environ);
}
