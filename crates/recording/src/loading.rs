//! Find out whether a program loads the library that records, and makes its calls by it.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// The mark in the data of a program that Go's tools linked (Go's package `debug/buildinfo`).
const GO: &[u8] = b"\xff Go buildinf:";
/// The type of the segment that names the program that loads libraries (elf(5)).
const PT_INTERP: usize = 3;

/// Return why the program of a process cannot be recorded. None: nothing is known against it.
pub fn why_not(pid: i32) -> Option<String> {
    let path = format!("/proc/{pid}/exe");
    let name = fs::read_link(&path).ok()?;
    let is_privileged = fs::metadata(&path).ok()?.mode() & 0o6000 != 0;
    let why = if is_privileged {
        "is setuid or setgid: the system loads no library into it"
    } else {
        unrecorded(&fs::read(&path).ok()?)?
    };
    Some(format!("{} {why}", name.display()))
}

/// Return what keeps an ELF file's calls from the library.
fn unrecorded(file: &[u8]) -> Option<&'static str> {
    if file.windows(GO.len()).any(|bytes| bytes == GO) {
        Some("is a Go program: it makes system calls without the C library")
    } else if loads_libraries(file) {
        None
    } else {
        Some("is linked statically: it loads no library")
    }
}

/// Return true if an ELF file names the program that loads its libraries.
fn loads_libraries(file: &[u8]) -> bool {
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(file.get(at..at.checked_add(bytes)?)?);
        usize::try_from(u64::from_le_bytes(value)).ok()
    };
    let headers = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    headers().is_some_and(|(begin, size, count)| {
        (0..count).any(|index| {
            let at = begin.saturating_add(index * size);
            at < file.len() && number(at, 4) == Some(PT_INTERP)
        })
    })
}
