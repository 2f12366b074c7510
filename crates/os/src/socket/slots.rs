//! Slots for the packets of one system call: equal pieces of one buffer.

use std::io;

/// Return the I/O vector of each of `slots` slots of `size` bytes in `buffers`.
pub(super) fn vectors(buffers: &mut [u8], size: usize, slots: usize) -> Box<[libc::iovec]> {
    let base = buffers.as_mut_ptr();
    (0..slots)
        .map(|slot| libc::iovec { iov_base: base.wrapping_add(slot * size).cast(), iov_len: size })
        .collect()
}

/// Convert the result of `sendmmsg(2)` or `recvmmsg(2)`: a number of packets, or -1 for an error.
pub(super) fn count(result: libc::c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
