//! The name that ps(1) shows for a process.

use std::ffi::CString;
use std::fs;
use std::io;
use std::sync::OnceLock;

/// The address and length of this process's arguments and environment as placed at its start. They are the
/// same in all its forks, which need not ask the kernel again.
static ROOM: OnceLock<(usize, usize)> = OnceLock::new();

/// Move the environment out of the memory behind the arguments, so that [`set`] may use that memory. Call it
/// once, before the first fork, in a single-threaded process. Fails if `/proc` is not mounted.
pub fn make_room() -> io::Result<()> {
    for (name, value) in std::env::vars_os() {
        // SAFETY: this process has one thread, nobody reads the environment meanwhile.
        // glibc keeps changed variables on the heap.
        unsafe { std::env::set_var(name, value) };
    }
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Fields are counted from the end of the command's name, which may itself hold spaces.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<usize>().ok());
    if let (Some(start), Some(end)) = (field(48), field(51))
        && 0 < start
        && start < end
    {
        ROOM.get_or_init(|| (start, end - start));
    }
    Ok(())
}

/// Write `title` over the arguments that this process was started with, which ps(1) prints, and set the
/// thread's short name (15 bytes, prctl(2), `PR_SET_NAME`) to `short`. A longer title is cut. Call
/// [`make_room`] first; without it only the short name is set. Fails if `short` has a zero byte.
pub fn set(title: &str, short: &str) -> io::Result<()> {
    nix::sys::prctl::set_name(&CString::new(short)?)?;
    let Some(&(start, length)) = ROOM.get() else { return Ok(()) };
    // SAFETY: proc_pid_stat(5): arg_start (48) to env_end (51) is one writable piece of this
    // process's stack; the arguments were read already and the environment was moved away.
    let area = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, length) };
    area.fill(0);
    let length = title.len().min(area.len() - 1);
    area[..length].copy_from_slice(&title.as_bytes()[..length]);
    Ok(())
}
