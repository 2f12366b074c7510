//! The process's memory.

/// Returns freed memory to the kernel (malloc_trim(3)). Before many forks: each copies the page table of
/// what is mapped, and a child whose allocator tidies up what was freed would copy all of those pages.
pub fn trim() {
    // SAFETY: takes an integer; glibc holds its own locks.
    unsafe { libc::malloc_trim(0) };
}

const CACHE_LINE: usize = 64;

/// A value will soon be used: the CPU may fetch it meanwhile. Changes nothing else; not what it points to.
pub fn prefetch<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of_val(value)).step_by(CACHE_LINE) {
        let line = std::ptr::from_ref(value).cast::<i8>().wrapping_add(offset);
        // SAFETY: every x86-64 CPU has the instruction, which reads nothing and cannot fault.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
