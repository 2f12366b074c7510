//! TCP connections of probes: opened without waiting, timed, and ended by a reset.

use std::io;
use std::mem::zeroed;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrStorage, accept4, bind,
    listen, recv, send, setsockopt, shutdown, socket, sockopt,
};

use super::connect_to;
use super::option::{pending_error, set_option};

/// The time after which Linux sends an unanswered SYN for the second time, in ns: 1 s (RFC 6298).
pub const SYN_RETRANSMISSION_NS: i64 = 1_000_000_000;

/// Open a TCP socket bound to `local` (port 0: chosen by the system when it connects), for this IP version only.
/// It does not block. Fails with `EADDRINUSE` if the port is taken.
pub fn unconnected(local: SocketAddr) -> io::Result<OwnedFd> {
    let fd = open(local)?;
    set_option(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, &1i32)?;
    // An unbound socket gets its port on connecting, when that need not be free for all destinations.
    if local.port() != 0 || !local.ip().is_unspecified() {
        bind(fd.as_raw_fd(), &SockaddrStorage::from(local))?;
    }
    Ok(fd)
}

/// Send the SYN of a connection to `to`, and return without waiting for the answer. Fails with the kernel's
/// reason if it does not send one.
pub fn start(fd: BorrowedFd<'_>, to: SocketAddr) -> io::Result<()> {
    match connect_to(fd, to) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other,
    }
}

/// Fail with the reason why a connection could not be opened or has ended: `ECONNREFUSED` if the other end has
/// reset it, or the error of an ICMP message.
pub fn result(fd: BorrowedFd<'_>) -> io::Result<()> {
    pending_error(fd)
}

/// Send all of `bytes` without waiting. Fails with `WouldBlock` if the kernel has no room for all of them.
pub fn send_all(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    match send(fd.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL)? {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Receive up to as many bytes as `buffer` has, without waiting, and return their number: 0 if the other end has
/// finished. Fails with `WouldBlock` if there are none yet.
pub fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(recv(fd.as_raw_fd(), buffer, MsgFlags::empty())?)
}

/// Return the number of segments that the kernel has sent again on this connection (`TCP_INFO`, tcp(7)).
pub fn retransmissions(fd: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: all zeros is a valid tcp_info, a struct of integers.
    let mut info: libc::tcp_info = unsafe { zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: `info` is `length` writable bytes; the kernel writes no more than that.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(info.tcpi_total_retrans) } else { Err(io::Error::last_os_error()) }
}

/// Listen at a TCP port, for this IP version only, with at most `backlog` connections that nobody has accepted.
/// Fails with `EADDRINUSE` if the port is taken.
pub fn listener(local: SocketAddr, backlog: u16) -> io::Result<OwnedFd> {
    let fd = open(local)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(local))?;
    listen(&fd, Backlog::new(i32::from(backlog))?)?;
    Ok(fd)
}

/// Accept a connection without waiting; return `None` if there is none. Closing it sends all data first.
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    match accept4(listener.as_raw_fd(), flags) {
        Ok(fd) => {
            // SAFETY: accept4 has just made this descriptor, and nobody else has it.
            Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) }))
        }
        // After a signal, or when the other end has gone away, the caller finds the next connection later.
        Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNABORTED) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Open a TCP socket whose port may have been used a moment ago.
fn open(local: SocketAddr) -> io::Result<OwnedFd> {
    let family = if local.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(family, SockType::Stream, flags, None)?;
    if local.is_ipv6() {
        set_option(fd.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &1i32)?;
    }
    setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    Ok(fd)
}

/// Close a connection by a reset, even if data are under way.
pub fn reset(fd: OwnedFd) -> io::Result<()> {
    end_by_reset(fd.as_fd())
}

/// Send no more data on a connection; what the other end sends still arrives (shutdown(2)).
pub fn finish(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(shutdown(fd.as_raw_fd(), Shutdown::Write)?)
}

/// Make closing a socket send a reset, so that neither end keeps a connection in `TIME_WAIT` (`SO_LINGER` of 0 s,
/// socket(7)).
pub fn end_by_reset(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(setsockopt(&fd, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::files::poll::{self, Interest};
    use crate::socket::local_address;

    const HERE: std::net::Ipv4Addr = std::net::Ipv4Addr::LOCALHOST;

    /// Connect to a port of this host and return the result.
    fn connected(to: SocketAddr) -> (OwnedFd, io::Result<()>) {
        let fd = unconnected((HERE, 0).into()).unwrap();
        end_by_reset(fd.as_fd()).unwrap();
        start(fd.as_fd(), to).unwrap();
        poll::wait(&[(fd.as_fd(), Interest::Write)], Some(Duration::from_secs(5))).unwrap();
        let result = result(fd.as_fd());
        (fd, result)
    }

    #[test]
    fn a_connection_opens_and_leaves_its_ports_free() {
        let listener = listener((HERE, 0).into(), 4).unwrap();
        let to = local_address(listener.as_fd()).unwrap();
        let (fd, result) = connected(to);
        result.unwrap();
        assert_eq!(retransmissions(fd.as_fd()).unwrap(), 0);
        let local = local_address(fd.as_fd()).unwrap();
        assert!(accept(listener.as_fd()).unwrap().is_some());
        drop(fd);
        // In TIME_WAIT the same two ports could not be connected again at once.
        let again = unconnected(local).unwrap();
        start(again.as_fd(), to).unwrap();
        poll::wait(&[(again.as_fd(), Interest::Write)], Some(Duration::from_secs(5))).unwrap();
        super::result(again.as_fd()).unwrap();
    }

    #[test]
    fn a_closed_port_refuses() {
        let listener = listener((HERE, 0).into(), 4).unwrap();
        let to = local_address(listener.as_fd()).unwrap();
        drop(listener);
        let (_, result) = connected(to);
        assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::ECONNREFUSED));
    }

    #[test]
    fn nothing_to_accept_is_no_error() {
        let listener = listener((HERE, 0).into(), 4).unwrap();
        assert!(accept(listener.as_fd()).unwrap().is_none());
    }
}
