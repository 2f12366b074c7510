//! The process's memory.

/// The size of a cache line on x86-64, in bytes.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// Return freed memory to the kernel (malloc_trim(3)). Call it before many forks: each fork copies the page
/// table of mapped memory, and a child whose allocator tidies up freed memory would copy all of those pages.
pub fn trim() {
    // SAFETY: takes an integer; glibc holds its own locks.
    unsafe { libc::malloc_trim(0) };
}

/// Hint the CPU to fetch these bytes, which will soon be read. Has no other effect.
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
