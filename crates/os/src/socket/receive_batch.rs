//! Receiving many packets by one system call: `recvmmsg(2)` into buffers allocated once.

use std::io;
use std::mem::zeroed;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::address::read_address;
use super::control_message::Control;
use super::slots::{count, vectors};

/// The room for all control messages that the kernel may attach to a packet here: a stamp, a hop limit and an
/// extended error with the address of its origin.
const CONTROL: usize = 256;

/// Received packets, each with its source and the kernel's control messages.
#[derive(Debug)]
pub struct ReceiveBatch {
    buffers: Box<[u8]>,
    stride: usize,
    names: Box<[libc::sockaddr_storage]>,
    controls: Box<[ControlBuffer]>,
    // These point into the boxes above, which never move.
    headers: Box<[libc::mmsghdr]>,
    _vectors: Box<[libc::iovec]>,
}

/// A buffer for control messages, aligned like the `cmsghdr` as which they are read.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
struct ControlBuffer([u8; CONTROL]);

/// One packet of a [`ReceiveBatch`].
#[derive(Debug)]
pub struct Message<'a> {
    /// The packet, cut to the slots' size.
    pub bytes: &'a [u8],
    header: &'a libc::msghdr,
    name: &'a libc::sockaddr_storage,
}

impl Message<'_> {
    /// Return the source address of the packet, if the batch was made to receive it.
    #[must_use]
    pub fn from(&self) -> Option<SocketAddr> {
        if self.header.msg_name.is_null() || self.header.msg_namelen == 0 {
            None
        } else {
            read_address(self.name)
        }
    }

    /// Return true if the packet was longer than the slot.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.header.msg_flags & libc::MSG_TRUNC != 0
    }

    /// Return the kernel's control messages for the packet.
    #[must_use]
    pub fn control(&self) -> Control {
        Control::read(self.header)
    }
}

impl ReceiveBatch {
    /// Allocate room for `slots` packets of up to `size` bytes each, and for their source addresses. Longer
    /// packets are cut.
    #[must_use]
    pub fn with_sources(slots: usize, size: usize) -> Self {
        Self::new(slots, size, true)
    }

    /// Allocate room as [`Self::with_sources`] does, but for no source addresses, which cost the kernel time.
    #[must_use]
    pub fn without_sources(slots: usize, size: usize) -> Self {
        Self::new(slots, size, false)
    }

    /// Allocate the buffers; those for source addresses are given to the kernel only with `named`.
    // Public until the agent is moved.
    #[doc(hidden)]
    #[must_use]
    pub fn new(slots: usize, size: usize, named: bool) -> Self {
        let mut buffers = vec![0; slots * size].into_boxed_slice();
        // SAFETY: all zeros is a valid sockaddr_storage.
        let mut names: Box<[libc::sockaddr_storage]> =
            vec![unsafe { zeroed() }; slots].into_boxed_slice();
        let mut controls = vec![ControlBuffer([0; CONTROL]); slots].into_boxed_slice();
        let mut vectors = vectors(&mut buffers, size, slots);
        let headers = (0..slots)
            .map(|slot| {
                // SAFETY: all zeros is a valid mmsghdr.
                let mut header: libc::mmsghdr = unsafe { zeroed() };
                header.msg_hdr.msg_iov = &raw mut vectors[slot];
                header.msg_hdr.msg_iovlen = 1;
                if named {
                    header.msg_hdr.msg_name = (&raw mut names[slot]).cast();
                }
                header.msg_hdr.msg_control = controls[slot].0.as_mut_ptr().cast();
                header
            })
            .collect();
        Self { buffers, stride: size, names, controls, headers, _vectors: vectors }
    }

    /// Receive the packets that have arrived, without blocking, and return their number.
    pub fn receive(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        self.receive_up_to(fd, self.slots())
    }

    /// Receive as [`Self::receive`] does, but at most `limit` packets. If that many have arrived, the
    /// call returns without looking for another.
    pub fn receive_up_to(&mut self, fd: BorrowedFd<'_>, limit: usize) -> io::Result<usize> {
        self.take(fd, libc::MSG_DONTWAIT, limit)
    }

    /// Receive transmit stamps and errors from the error queue, without blocking, and return their number.
    pub fn receive_errors(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        self.take(fd, libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE, self.slots())
    }

    /// Receive at most `limit` packets, and no more than there are slots. None have arrived if the call would
    /// block or a signal came.
    fn take(&mut self, fd: BorrowedFd<'_>, flags: libc::c_int, limit: usize) -> io::Result<usize> {
        let limit = limit.min(self.slots());
        let headers = &mut self.headers[..limit];
        for header in headers.iter_mut() {
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_hdr.msg_controllen = CONTROL as _;
        }
        let (headers, slots) = (headers.as_mut_ptr(), limit as u32);
        // SAFETY: the headers point to buffers of this struct, which outlive the call.
        let result =
            unsafe { libc::recvmmsg(fd.as_raw_fd(), headers, slots, flags, std::ptr::null_mut()) };
        match count(result) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            other => other,
        }
    }

    /// Return the maximum number of packets per call.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.controls.len()
    }

    /// Return a packet of the last call, by its slot.
    #[must_use]
    pub fn message(&self, slot: usize) -> Message<'_> {
        let length = (self.headers[slot].msg_len as usize).min(self.stride);
        Message {
            bytes: &self.buffers[slot * self.stride..][..length],
            header: &self.headers[slot].msg_hdr,
            name: &self.names[slot],
        }
    }
}
