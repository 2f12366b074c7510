//! Messages sent and received in batches (sendmmsg(2), recvmmsg(2)).

use std::io;
use std::mem::zeroed;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

use super::control_message::Control;

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
    fn new(slots: usize, size: usize, named: bool) -> Self {
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

/// Read the address from a name that the kernel wrote.
fn read_address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let name_at = std::ptr::from_ref(name);
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the storage holds a sockaddr_in.
            let v4 = unsafe { *name_at.cast::<libc::sockaddr_in>() };
            let address = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some((address, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that the storage holds a sockaddr_in6.
            let v6 = unsafe { *name_at.cast::<libc::sockaddr_in6>() };
            let address = v6.sin6_addr.s6_addr.into();
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddrV6::new(address, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Write an address as a name for the kernel and return the name's length.
fn write_address(address: SocketAddr, name: &mut libc::sockaddr_storage) -> libc::socklen_t {
    use nix::sys::socket::{SockaddrLike, SockaddrStorage};
    let storage = SockaddrStorage::from(address);
    // SAFETY: the storage is `len` bytes long, which is not more than a sockaddr_storage.
    unsafe {
        let to = std::ptr::from_mut(name).cast::<u8>();
        std::ptr::copy_nonoverlapping(storage.as_ptr().cast(), to, storage.len() as usize);
    }
    storage.len()
}

/// The buffer for the control message that [`write_source`] makes, aligned as the kernel requires.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
struct SourceControl([u8; 40]);

impl SourceControl {
    const EMPTY: Self = Self([0; 40]);
}

/// Write the control message that sets a packet's source address (`IP_PKTINFO`, ip(7); `IPV6_PKTINFO`,
/// ipv6(7)), and return its length.
fn write_source(source: IpAddr, control: &mut SourceControl) -> usize {
    match source {
        IpAddr::V4(address) => {
            // SAFETY: all zeros is a valid in_pktinfo: any interface.
            let mut info: libc::in_pktinfo = unsafe { zeroed() };
            info.ipi_spec_dst.s_addr = u32::from(address).to_be();
            write_control(libc::IPPROTO_IP, libc::IP_PKTINFO, &info, control)
        }
        IpAddr::V6(address) => {
            // SAFETY: all zeros is a valid in6_pktinfo: any interface.
            let mut info: libc::in6_pktinfo = unsafe { zeroed() };
            info.ipi6_addr.s6_addr = address.octets();
            write_control(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info, control)
        }
    }
}

fn write_control<T: Copy>(level: i32, kind: i32, data: &T, control: &mut SourceControl) -> usize {
    let size = size_of::<T>() as u32;
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute; the buffer is aligned and holds the header
    // and the larger of the two infos: 16 + 20 bytes, padded to 40.
    unsafe {
        let header = control.0.as_mut_ptr().cast::<libc::cmsghdr>();
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        std::ptr::write_unaligned(libc::CMSG_DATA(header).cast(), *data);
        libc::CMSG_SPACE(size) as usize
    }
}

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
