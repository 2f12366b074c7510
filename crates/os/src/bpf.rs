//! The pieces that users of BPF programs share: the programs' memory and the loader's errors. The
//! programs themselves, in C, are in `crates/os/bpf`.

use std::error::Error;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use aya::maps::ring_buf::RingBufItem;
use aya::maps::{Array, IterableMap, Map};
use aya::programs::SchedClassifier;
use aya::{Ebpf, Pod};

/// Convert an error to one line of text, with its causes.
pub(crate) fn refused<E: Error>(error: E) -> io::Error {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    io::Error::other(text)
}

/// Return a program of an object.
///
/// # Panics
/// Panics if the object has no such program.
pub(crate) fn classifier<'a>(
    object: &'a mut Ebpf,
    name: &str,
) -> io::Result<&'a mut SchedClassifier> {
    let program = object.program_mut(name).expect("the object has this program");
    program.try_into().map_err(refused)
}

/// Read a record in the ring, written by the attached program.
///
/// # Panics
/// Panics if it does not have the type's size: program and reader come from different builds.
pub(crate) fn record<'a, T: Pod>(item: &'a RingBufItem<'_>) -> &'a T {
    assert_eq!(item.len(), size_of::<T>(), "the program and its reader are of one make");
    // SAFETY: the record is as long as a T, which may hold any bytes; records in a ring are aligned to 8
    // bytes, and nothing here is aligned to more.
    unsafe { &*item.as_ptr().cast::<T>() }
}

/// A BPF array map of `u64`, mapped into memory (`BPF_F_MMAPABLE`).
#[derive(Debug)]
pub(crate) struct SharedArray {
    memory: NonNull<AtomicU64>,
    length: usize,
}

impl SharedArray {
    /// Map the array of this name.
    ///
    /// # Panics
    /// Panics if the object has no such map.
    pub(crate) fn of(object: &Ebpf, name: &str) -> io::Result<Self> {
        let map = object.map(name).expect("the object has this map");
        let map: Array<_, u64> = map.try_into().map_err(refused)?;
        Self::map(map.map().fd().as_fd(), map.len() as usize)
    }

    /// Map the array of this name, whose elements have several words, as one of `length` words.
    ///
    /// # Panics
    /// Panics if the object has no such array.
    pub(crate) fn of_words(object: &Ebpf, name: &str, length: usize) -> io::Result<Self> {
        let Some(Map::Array(map)) = object.map(name) else { panic!("the object has this array") };
        Self::map(map.fd().as_fd(), length)
    }

    /// Map the array of `length` elements that `fd` refers to.
    pub(crate) fn map(fd: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        let (size, shared) = (length * size_of::<u64>(), libc::MAP_SHARED);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let nowhere = std::ptr::null_mut();
        // SAFETY: a new mapping at an address of the kernel's choice. The kernel rounds the size up to whole
        // pages, as it did for the array.
        let memory = unsafe { libc::mmap(nowhere, size, access, shared, fd.as_raw_fd(), 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { memory, length })
    }

    /// Return the element at a place; 0 if it was never written or lies beyond the end.
    pub(crate) fn get(&self, place: u32) -> u64 {
        self.at(place).map_or(0, |element| element.load(Ordering::Relaxed))
    }

    /// Return elements from a place on, in order, each read after what was written before the one in front of it;
    /// 0 beyond the end.
    pub(crate) fn words<const N: usize>(&self, place: usize) -> [u64; N] {
        std::array::from_fn(|word| {
            let at = u32::try_from(place + word).unwrap_or(u32::MAX);
            self.at(at).map_or(0, |element| element.load(Ordering::Acquire))
        })
    }

    /// Write the element at a place, if there is one.
    pub(crate) fn set(&self, place: u32, value: u64) {
        if let Some(element) = self.at(place) {
            element.store(value, Ordering::SeqCst);
        }
    }

    fn at(&self, place: u32) -> Option<&AtomicU64> {
        // SAFETY: within the mapping, aligned, and only accessed as an atomic.
        ((place as usize) < self.length)
            .then(|| unsafe { self.memory.add(place as usize).as_ref() })
    }
}

impl Drop for SharedArray {
    fn drop(&mut self) {
        let size = self.length * size_of::<u64>();
        // SAFETY: the mapping was made in `map` with this size and is not used afterwards.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), size) };
    }
}
