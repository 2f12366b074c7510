//! Sockets: those that send and receive probe packets and frames, their options, filters and control
//! messages.

pub mod batch;
pub mod connection;
pub mod control_message;
pub mod filter;
pub(crate) mod option;
pub mod order_counter;
pub mod packet_socket;
pub mod passing_frames;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, connect, getsockname,
    getsockopt, setsockopt, socket, sockopt,
};

use filter::Program;
use option::set_option;

/// The kind of a probe's socket, which determines the data that it takes and returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// UDP payloads.
    Udp,
    /// ICMP messages; the kernel fills in the identifier and the checksum (icmp(7), "ping sockets").
    IcmpDatagram,
    /// ICMP messages. Received data starts with the IP header for IPv4, but not for IPv6 (raw(7)).
    IcmpRaw,
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn open(address: IpAddr, kind: SockType, protocol: Option<SockProtocol>) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(family(address), kind, flags, protocol)?)
}

/// Open a non-blocking UDP socket bound to `local` (port 0: chosen by the system), for this IP version only.
/// Fails with `EADDRINUSE` if the port is taken.
pub fn udp(local: SocketAddr) -> io::Result<OwnedFd> {
    bound(local, false)
}

/// Open a UDP socket as `udp` does, whose port other sockets so opened may share. Each packet reaches one of
/// them.
pub fn shared_udp(local: SocketAddr) -> io::Result<OwnedFd> {
    bound(local, true)
}

/// Open a UDP socket; with `shared` others may have the same port (`SO_REUSEADDR`).
fn bound(local: SocketAddr, shared: bool) -> io::Result<OwnedFd> {
    let fd = open(local.ip(), SockType::Datagram, None)?;
    if local.is_ipv6() {
        set_option(fd.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &1i32)?;
    }
    setsockopt(&fd, sockopt::ReuseAddr, &shared)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(local))?;
    Ok(fd)
}

/// Open a non-blocking socket for ICMP echo from `local`, whose port is the identifier (0: chosen by the
/// system), and return the identifier that it got. It is a datagram socket where `net.ipv4.ping_group_range`
/// allows one, else a raw socket, which needs `CAP_NET_RAW`. If neither is allowed the error is that of the
/// first.
pub fn icmp(local: SocketAddr) -> io::Result<(OwnedFd, Flavour, u16)> {
    let (from, ident) = (local.ip(), local.port());
    let protocol = if from.is_ipv4() { SockProtocol::Icmp } else { SockProtocol::IcmpV6 };
    match open(from, SockType::Datagram, Some(protocol)) {
        Ok(fd) => {
            bind(fd.as_raw_fd(), &SockaddrStorage::from(local))?;
            let ident = local_address(fd.as_fd())?.port();
            Ok((fd, Flavour::IcmpDatagram, ident))
        }
        Err(refused) => {
            // If neither is allowed, report the first error: it names what an ordinary user can change.
            let fd = open(from, SockType::Raw, Some(protocol)).map_err(|_| refused)?;
            bind(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(from, 0)))?;
            let ident = if ident == 0 { std::process::id() as u16 | 1 } else { ident };
            let ip = if from.is_ipv4() { 4 } else { 6 };
            Program::raw_replies(ip, ident).attach(fd.as_fd())?;
            Ok((fd, Flavour::IcmpRaw, ident))
        }
    }
}

/// Return the unspecified address of the same family as `like`, with a port.
#[must_use]
pub fn any(like: IpAddr, port: u16) -> SocketAddr {
    if like.is_ipv4() {
        (std::net::Ipv4Addr::UNSPECIFIED, port).into()
    } else {
        (std::net::Ipv6Addr::UNSPECIFIED, port).into()
    }
}

/// Connect a socket: it then receives only from `to`, and gets the errors of packets sent there. Fails with
/// `ENETUNREACH` if there is no route.
pub fn connect_to(fd: BorrowedFd<'_>, to: SocketAddr) -> io::Result<()> {
    Ok(connect(fd.as_raw_fd(), &SockaddrStorage::from(to))?)
}

/// Fail as [`connect_to`] does if packets from `local` cannot be sent to `to`, by this interface if one is named, for a
/// socket that stays unconnected because it is to receive from everywhere.
pub fn check_route(local: SocketAddr, to: SocketAddr, interface: Option<&str>) -> io::Result<()> {
    let fd = udp(SocketAddr::new(local.ip(), 0))?;
    if let Some(interface) = interface {
        bind_to_interface(fd.as_fd(), interface)?;
    }
    connect_to(fd.as_fd(), to)
}

/// Return the address that a socket is bound to (getsockname(2)).
pub fn local_address(fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    let address: SockaddrStorage = getsockname(fd.as_raw_fd())?;
    if let Some(v4) = address.as_sockaddr_in() {
        return Ok(SocketAddr::V4((*v4).into()));
    }
    address
        .as_sockaddr_in6()
        .map(|v6| SocketAddr::V6((*v6).into()))
        .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
}

/// Set the time to live (IPv4) or hop limit (IPv6) of sent packets, 1 to 255.
pub fn set_ttl(fd: BorrowedFd<'_>, ip: IpAddr, ttl: u8) -> io::Result<()> {
    let (level, name) = if ip.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_TTL)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS)
    };
    set_option(fd.as_raw_fd(), level, name, &i32::from(ttl))
}

/// Set the type of service (IPv4) or traffic class (IPv6) of sent packets: DSCP in the high 6 bits. The kernel itself sets
/// the low 2 bits, ECN, of TCP's packets.
pub fn set_tos(fd: BorrowedFd<'_>, ip: IpAddr, tos: u8) -> io::Result<()> {
    let (level, name) = if ip.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_TOS)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
    };
    set_option(fd.as_raw_fd(), level, name, &i32::from(tos))
}

/// Send and receive by one interface only, whatever the routing table says (`SO_BINDTODEVICE`).
pub fn bind_to_interface(fd: BorrowedFd<'_>, interface: &str) -> io::Result<()> {
    Ok(setsockopt(&fd, sockopt::BindToDevice, &interface.into())?)
}

/// Request the time to live or hop limit of each received packet as a control message.
pub fn receive_ttl(fd: BorrowedFd<'_>, ip: IpAddr) -> io::Result<()> {
    let (level, name) = if ip.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_RECVTTL)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT)
    };
    set_option(fd.as_raw_fd(), level, name, &1i32)
}

/// Request the destination address of each received packet as a control message.
pub fn receive_local_address(fd: BorrowedFd<'_>, ip: IpAddr) -> io::Result<()> {
    let (level, name) = if ip.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_PKTINFO)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
    };
    set_option(fd.as_raw_fd(), level, name, &1i32)
}

/// Put ICMP errors about sent packets on the error queue (`IP_RECVERR`, ip(7)).
pub fn receive_errors(fd: BorrowedFd<'_>, ip: IpAddr) -> io::Result<()> {
    let (level, name) = if ip.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    };
    set_option(fd.as_raw_fd(), level, name, &1i32)
}

/// The size of large socket buffers in bytes: room for some thousands of small packets, each charged almost
/// 1 KiB, and for as many frames as an interface's own queue takes.
pub const LARGE_BUFFER: usize = 16 << 20;

/// Set the size of both socket buffers: beyond the system's limit where `CAP_NET_ADMIN` allows it, else up to
/// the limit.
pub fn set_buffers(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    if setsockopt(&fd, sockopt::RcvBufForce, &bytes).is_err() {
        setsockopt(&fd, sockopt::RcvBuf, &bytes)?;
    }
    if setsockopt(&fd, sockopt::SndBufForce, &bytes).is_err() {
        setsockopt(&fd, sockopt::SndBuf, &bytes)?;
    }
    Ok(())
}

/// Return the user id of the process that connected, or that listens, at the other end: as of that moment, in
/// the user ids of this process's user namespace.
fn peer_user(socket: &impl AsFd) -> io::Result<u32> {
    Ok(getsockopt(socket, sockopt::PeerCredentials)?.uid())
}

/// Fail with `PermissionDenied` unless the process at the other end belongs to this process's user.
pub fn require_own(socket: &impl AsFd) -> io::Result<()> {
    let (peer, own) = (peer_user(socket)?, nix::unistd::geteuid().as_raw());
    if peer == own {
        return Ok(());
    }
    let why = format!("the other end belongs to user {peer}, this process to user {own}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Return the cookie of this network namespace, by which BPF programs know it (`SO_NETNS_COOKIE`, Linux 5.14).
pub fn namespace_cookie() -> io::Result<u64> {
    let any = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    let (mut cookie, mut length) = (0_u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: `cookie` has room for `length` bytes, and the kernel writes no more.
    let result = unsafe {
        libc::getsockopt(
            any.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            std::ptr::from_mut(&mut cookie).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}
