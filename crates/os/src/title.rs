//! The name that ps(1) shows for a process.

use std::fs;
use std::io;

/// Moves the environment out of the memory behind the arguments, so that [`set`] may use it.
/// Once, before the first fork, in a process of one thread.
pub fn make_room() {
    for (name, value) in std::env::vars_os() {
        // SAFETY: this process has one thread, nobody reads the environment meanwhile.
        // glibc keeps changed variables on the heap.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Writes `title` over the arguments that this process was started with: what ps(1) prints. Also
/// sets the thread's short name (15 bytes) to `short`. [`make_room`] comes first.
pub fn set(title: &str, short: &str) -> io::Result<()> {
    let short = std::ffi::CString::new(short)?;
    nix::sys::prctl::set_name(&short)?;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Fields are counted from the end of the command's name, which may itself hold blanks.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<usize>().ok());
    let (Some(start), Some(end)) = (field(48), field(51)) else { return Ok(()) };
    if start == 0 || end <= start {
        return Ok(());
    }
    // SAFETY: proc_pid_stat(5): arg_start (48) to env_end (51) is one writable piece of this
    // process's stack; the arguments were read already and the environment was moved away.
    let area = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, end - start) };
    area.fill(0);
    let length = title.len().min(area.len() - 1);
    area[..length].copy_from_slice(&title.as_bytes()[..length]);
    Ok(())
}
