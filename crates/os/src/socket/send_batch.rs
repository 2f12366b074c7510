//! Sending many packets by one system call: `sendmmsg(2)` on buffers allocated once.

use std::io;
use std::mem::zeroed;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

use super::address::{SourceControl, write_address, write_source};
use super::slots::{count, vectors};

/// Packets to send, in slots of equal size.
#[derive(Debug)]
pub struct SendBatch {
    buffers: Box<[u8]>,
    stride: usize,
    names: Box<[libc::sockaddr_storage]>,
    sources: Box<[SourceControl]>,
    // These point into the boxes above, which never move.
    headers: Box<[libc::mmsghdr]>,
    _vectors: Box<[libc::iovec]>,
}

impl SendBatch {
    /// Allocate `slots` packets of `size` bytes, for a connected socket.
    #[must_use]
    pub fn new(slots: usize, size: usize) -> Self {
        let mut buffers = vec![0; slots * size].into_boxed_slice();
        // SAFETY: all zeros is a valid sockaddr_storage.
        let names = vec![unsafe { zeroed() }; slots].into_boxed_slice();
        let mut vectors = vectors(&mut buffers, size, slots);
        let headers = vectors
            .iter_mut()
            .map(|vector| {
                // SAFETY: all zeros is a valid mmsghdr: no name, no control, no buffers.
                let mut header: libc::mmsghdr = unsafe { zeroed() };
                header.msg_hdr.msg_iov = vector;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        let sources = vec![SourceControl::EMPTY; slots].into_boxed_slice();
        Self { buffers, stride: size, names, sources, headers, _vectors: vectors }
    }

    /// Send the packets of all slots to `to`, by an unconnected socket.
    pub fn address_all(&mut self, to: SocketAddr) {
        for (name, header) in self.names.iter_mut().zip(&mut self.headers) {
            header.msg_hdr.msg_namelen = write_address(to, name);
            header.msg_hdr.msg_name = std::ptr::from_mut(name).cast();
        }
    }

    /// Return the packet in a slot.
    pub fn slot(&mut self, slot: usize) -> &mut [u8] {
        &mut self.buffers[slot * self.stride..][..self.stride]
    }

    /// Copy `bytes` into a slot, to be sent to `to` by an unconnected socket, and from `source` if given.
    ///
    /// # Panics
    /// Panics if `bytes` is longer than a slot.
    pub fn fill(&mut self, slot: usize, bytes: &[u8], to: SocketAddr, source: Option<IpAddr>) {
        self.slot(slot)[..bytes.len()].copy_from_slice(bytes);
        let length = write_address(to, &mut self.names[slot]);
        let header = &mut self.headers[slot].msg_hdr;
        header.msg_name = (&raw mut self.names[slot]).cast();
        header.msg_namelen = length;
        // SAFETY: msg_iov was set in `new` to an element of a box that this struct owns.
        unsafe { (*header.msg_iov).iov_len = bytes.len() };
        header.msg_controllen = 0;
        if let Some(source) = source {
            header.msg_controllen = write_source(source, &mut self.sources[slot]) as _;
            header.msg_control = (&raw mut self.sources[slot]).cast();
        }
    }

    /// Send the packets in slots `first..end` and return how many the kernel took before the first that it
    /// refused. An error is about the first packet.
    pub fn send(&mut self, fd: BorrowedFd<'_>, first: usize, end: usize) -> io::Result<usize> {
        let headers = &mut self.headers[first..end];
        // SAFETY: the headers point to buffers and names of this struct, which outlive the call.
        count(unsafe {
            libc::sendmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), headers.len() as u32, 0)
        })
    }
}
