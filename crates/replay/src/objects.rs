//! The program and the libraries that are loaded, each with the sum of its code: a replay needs the same ones.

use core::ffi::{CStr, c_int, c_void};
use core::fmt::Write;
use core::slice;

/// A text with a line for each object: the path by which it was loaded, and the sum.
pub(crate) struct Lines<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) length: usize,
}

impl Lines<'_> {
    /// Add bytes, if they fit.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(self.length..self.length + bytes.len()) {
            place.copy_from_slice(bytes);
            self.length += bytes.len();
        }
    }
}

impl Write for Lines<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}

/// Write the lines of all objects but this library.
pub(crate) fn list(into: &mut Lines<'_>) {
    // SAFETY: the callback takes what the C library gives it, and the pointer is that of `into`.
    unsafe { libc::dl_iterate_phdr(Some(one), (&raw mut *into).cast::<c_void>()) };
}

unsafe extern "C" fn one(object: *mut libc::dl_phdr_info, _: usize, lines: *mut c_void) -> c_int {
    let lines = &mut *lines.cast::<Lines<'_>>();
    let name = CStr::from_ptr((*object).dlpi_name).to_str().unwrap_or("?");
    let headers = slice::from_raw_parts((*object).dlpi_phdr, usize::from((*object).dlpi_phnum));
    let own = list as *const () as u64;
    let is_own = headers.iter().any(|header| {
        let begin = (*object).dlpi_addr + header.p_vaddr;
        header.p_type == libc::PT_LOAD && (begin..begin + header.p_memsz).contains(&own)
    });
    let file = name.rsplit('/').next().unwrap_or(name);
    if is_own || file.starts_with("linux-vdso") {
        return 0;
    }
    let fixed = |header: &&libc::Elf64_Phdr| {
        header.p_type == libc::PT_LOAD && header.p_flags & (libc::PF_W | libc::PF_R) == libc::PF_R
    };
    let sum = headers.iter().filter(fixed).fold(0u64, |sum, header| {
        let begin = ((*object).dlpi_addr + header.p_vaddr) as *const u8;
        sum_of(sum, slice::from_raw_parts(begin, header.p_memsz as usize))
    });
    let name = if name.is_empty() { "(program)" } else { name };
    let _ = writeln!(lines, "{name} {sum:016x}");
    0
}

/// Add bytes to a sum, eight at a time (FNV-1a with words in place of bytes).
fn sum_of(sum: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let add = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let sum = words.iter().fold(!sum, |sum, word| add(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| add(sum, u64::from(*byte)))
}
