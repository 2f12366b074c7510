//! Packet sockets, which send and receive whole frames (packet(7)).

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::option::set_option;

/// Open a packet socket, non-blocking and close-on-exec, that receives nothing until it is bound to a
/// protocol. Fails with `EPERM` without `CAP_NET_RAW`.
pub fn open() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(AddressFamily::Packet, SockType::Raw, flags, None)?)
}

/// Bind a packet socket to an interface by its index (0: all) and to an EtherType; with 0 it can only send.
/// Fails with `ENODEV` if there is no such interface.
pub fn bind(fd: BorrowedFd<'_>, interface: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeros is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is `length` bytes long and outlives the call.
    let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The EtherType that stands for all.
pub const ALL: u16 = libc::ETH_P_ALL as u16;
/// The option of linux/if_packet.h that the crate `libc` lacks.
pub(super) const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Let a packet socket receive only what arrives, not what is sent. Kernels before Linux 4.20 do not know this.
pub fn ignore_sent(fd: BorrowedFd<'_>) {
    let _ = set_option(fd.as_raw_fd(), libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32);
}

/// Receive a frame: return its whole length, of which the buffer may hold less, and the index of the interface. Fails
/// with `EAGAIN` if none waits.
pub fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, u32)> {
    // SAFETY: all zeros is a valid sockaddr_ll.
    let mut from: libc::sockaddr_ll = unsafe { zeroed() };
    let mut room = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the buffer and the address have room for as many bytes as is said, and outlive the call.
    let length = unsafe {
        libc::recvfrom(
            fd.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            libc::MSG_TRUNC,
            (&raw mut from).cast(),
            &raw mut room,
        )
    };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    Ok((length, from.sll_ifindex.cast_unsigned()))
}

/// Mark all packets that a socket sends (`SO_MARK`, socket(7)).
pub fn mark(fd: BorrowedFd<'_>, mark: u32) -> io::Result<()> {
    set_option(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MARK, &mark)
}

/// A frame that no interface takes: an IP packet has 65,535 bytes at most, and so has the MTU of a cable or a TAP.
static TOO_LONG: [u8; 1 << 17] = [0; 1 << 17];

/// Return true if an interface of the socket's network namespace, by its index, is up. It costs a third of what a
/// question by netlink costs: the kernel is asked to send a frame that is too long, and looks at the interface before it
/// looks at the length (net/packet/af_packet.c, `packet_snd`). Nothing is sent.
#[must_use]
pub fn is_up(socket: BorrowedFd<'_>, interface: u32) -> bool {
    // SAFETY: all zeros is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = interface.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the frame and the address outlive the call, which only reads them.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            TOO_LONG.as_ptr().cast(),
            TOO_LONG.len(),
            0,
            (&raw const address).cast(),
            length,
        )
    };
    sent < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EMSGSIZE)
}

/// The buffers for one call of `sendmmsg(2)`, allocated once.
#[derive(Debug)]
pub struct FrameBatch {
    names: Box<[libc::sockaddr_ll]>,
    vectors: Box<[libc::iovec]>,
    // These point into the boxes above, which never move.
    headers: Box<[libc::mmsghdr]>,
}

impl FrameBatch {
    /// Allocate room for `slots` frames.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        // SAFETY: all zeros is a valid sockaddr_ll, iovec and mmsghdr.
        let (name, vector, header) = unsafe { (zeroed(), zeroed(), zeroed()) };
        let mut names: Box<[libc::sockaddr_ll]> = vec![name; slots].into();
        let mut vectors: Box<[libc::iovec]> = vec![vector; slots].into();
        let mut headers: Box<[libc::mmsghdr]> = vec![header; slots].into();
        for ((name, vector), header) in names.iter_mut().zip(&mut vectors).zip(&mut headers) {
            name.sll_family = libc::AF_PACKET as u16;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        Self { names, vectors, headers }
    }

    /// Send frames, each by the interface with its index, or by the interface that the socket is bound to,
    /// which costs the kernel less. Return how many frames the kernel took before the first that it refused;
    /// an error is about the first frame.
    ///
    /// # Panics
    /// Panics if there are more frames than slots.
    pub fn send<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        frames: impl Iterator<Item = (Option<u32>, &'a [u8])>,
    ) -> io::Result<usize> {
        let mut count = 0;
        for (interface, frame) in frames {
            let (header, name) = (&mut self.headers[count].msg_hdr, &mut self.names[count]);
            (header.msg_name, header.msg_namelen) = match interface {
                Some(interface) => {
                    name.sll_ifindex = interface.cast_signed();
                    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
                    (std::ptr::from_mut(name).cast(), length)
                }
                None => (std::ptr::null_mut(), 0),
            };
            let vector = &mut self.vectors[count];
            (vector.iov_base, vector.iov_len) = (frame.as_ptr().cast_mut().cast(), frame.len());
            count += 1;
        }
        if count == 1 {
            return self.send_one(socket).map(|()| 1);
        }
        let headers = &mut self.headers[..count];
        // SAFETY: the headers point to names and vectors of this struct, these to frames that
        // are borrowed until the call returns and that it only reads.
        let sent =
            unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count as u32, 0) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Send the first frame by `sendto(2)`, which gives the kernel less to read than `sendmmsg(2)`.
    fn send_one(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let (header, vector) = (&self.headers[0].msg_hdr, &self.vectors[0]);
        // SAFETY: the name, if any, is this struct's, and the vector points to a frame that is borrowed
        // until the call returns and that it only reads.
        let sent = unsafe {
            libc::sendto(
                socket.as_raw_fd(),
                vector.iov_base,
                vector.iov_len,
                0,
                header.msg_name.cast(),
                header.msg_namelen,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Set a socket's send buffer to `bytes`: beyond the system's limit where this process may (`SO_SNDBUFFORCE`,
/// socket(7)), else up to the limit.
pub fn widen(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let set = |name| set_option(socket.as_raw_fd(), libc::SOL_SOCKET, name, &bytes);
    set(libc::SO_SNDBUFFORCE).or_else(|_| set(libc::SO_SNDBUF))
}
