//! The process's heap.

/// Returns freed memory to the kernel (malloc_trim(3)). Before many forks: each copies the page table of
/// what is mapped, and a child whose allocator tidies up what was freed would copy all of those pages.
pub fn trim() {
    // SAFETY: takes an integer; glibc holds its own locks.
    unsafe { libc::malloc_trim(0) };
}
