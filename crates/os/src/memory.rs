//! The process's memory.

/// Of x86-64, in bytes.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// Returns freed memory to the kernel (malloc_trim(3)). Before many forks: each copies the page table of
/// what is mapped, and a child whose allocator tidies up what was freed would copy all of those pages.
pub fn trim() {
    // SAFETY: takes an integer; glibc holds its own locks.
    unsafe { libc::malloc_trim(0) };
}

/// These bytes will soon be read: the CPU may fetch them meanwhile. Changes nothing else.
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(CACHE_LINE) {
        // SAFETY: every x86-64 CPU has the instruction, which reads nothing and cannot fault.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
