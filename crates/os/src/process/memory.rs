//! The process's memory: what the allocator keeps, the CPU's cache, and a lock against paging.

use std::io;

/// The size of a cache line in bytes, on x86-64 and most other CPUs.
pub(crate) const CACHE_LINE: usize = 64;

/// Return freed memory to the kernel (malloc_trim(3)). Call it before many forks: each fork copies the page
/// table of mapped memory, and a child whose allocator tidies up freed memory would copy all of those pages.
pub fn trim() {
    // SAFETY: takes an integer; glibc holds its own locks.
    unsafe { libc::malloc_trim(0) };
}

/// Have this process, and the program that it becomes, get the same addresses at each start (personality(2)).
pub fn keep_addresses() -> io::Result<()> {
    use nix::sys::personality::{self, Persona};
    personality::set(personality::get()? | Persona::ADDR_NO_RANDOMIZE)?;
    Ok(())
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

/// A lock of the process's memory against paging, released on drop.
#[derive(Debug)]
pub struct Locked(());

impl Locked {
    /// Lock the memory that is mapped now (`mlockall(2)`, `MCL_CURRENT`). Later mappings are not locked, so a
    /// limit on locked memory never makes an allocation fail. Fails with `ENOMEM` or `EPERM` beyond that
    /// limit (`RLIMIT_MEMLOCK`) without `CAP_IPC_LOCK`.
    pub fn current() -> io::Result<Self> {
        Self::lock(libc::MCL_CURRENT)
    }

    /// Lock the pages that are mapped now, each from its first use on (`MCL_ONFAULT`). Fails as
    /// [`Self::current`] does.
    pub fn as_used() -> io::Result<Self> {
        Self::lock(libc::MCL_CURRENT | libc::MCL_ONFAULT)
    }

    fn lock(flags: libc::c_int) -> io::Result<Self> {
        // SAFETY: takes flags only.
        match unsafe { libc::mlockall(flags) } {
            0 => Ok(Self(())),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: takes nothing.
        unsafe { libc::munlockall() };
    }
}
