//! Sockets that send probes.

use crate::filter::Program;
use crate::option::set_option;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, connect, getsockname,
    setsockopt, socket, sockopt,
};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// What a probe's socket hands over and takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// UDP payloads.
    Udp,
    /// ICMP messages; the kernel fills in the identifier and the checksum (icmp(7), "ping sockets").
    IcmpDatagram,
    /// ICMP messages; what is received starts with the IP header (IPv4) or not (IPv6), raw(7).
    IcmpRaw,
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn open(address: IpAddr, kind: SockType, protocol: Option<SockProtocol>) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(family(address), kind, flags, protocol)?)
}

/// A UDP socket bound to `local` (port 0: the system's choice), of its own IP version only.
pub fn udp(local: SocketAddr) -> io::Result<OwnedFd> {
    bound(local, false)
}

/// As `udp`; others bound so may have the same port. What comes to it goes to one of them.
pub fn shared_udp(local: SocketAddr) -> io::Result<OwnedFd> {
    bound(local, true)
}

fn bound(local: SocketAddr, shared: bool) -> io::Result<OwnedFd> {
    let fd = open(local.ip(), SockType::Datagram, None)?;
    if local.is_ipv6() {
        set_option(fd.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &1i32)?;
    }
    setsockopt(&fd, sockopt::ReuseAddr, &shared)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(local))?;
    Ok(fd)
}

/// A socket for ICMP echo from `local`, whose port is the identifier (0: the system's choice): a
/// datagram socket where `net.ipv4.ping_group_range` allows one, else a raw one (needs
/// `CAP_NET_RAW`). The identifier taken is returned.
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
            // Where neither is allowed, the first refusal names the way an ordinary user has.
            let fd = open(from, SockType::Raw, Some(protocol)).map_err(|_| refused)?;
            bind(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(from, 0)))?;
            let ident = if ident == 0 { std::process::id() as u16 | 1 } else { ident };
            let ip = if from.is_ipv4() { 4 } else { 6 };
            Program::raw_replies(ip, ident).attach(fd.as_fd())?;
            Ok((fd, Flavour::IcmpRaw, ident))
        }
    }
}

/// The unspecified address of the same family as `like`, with a port.
#[must_use]
pub fn any(like: IpAddr, port: u16) -> SocketAddr {
    if like.is_ipv4() {
        (std::net::Ipv4Addr::UNSPECIFIED, port).into()
    } else {
        (std::net::Ipv6Addr::UNSPECIFIED, port).into()
    }
}

/// Connects a socket, so that it receives from `to` only and errors from the way there reach it.
pub fn connect_to(fd: BorrowedFd<'_>, to: SocketAddr) -> io::Result<()> {
    Ok(connect(fd.as_raw_fd(), &SockaddrStorage::from(to))?)
}

/// The address that a socket sends from.
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

/// Sets the time to live (IPv4) or hop limit (IPv6) of what is sent, 1 to 255.
pub fn set_ttl(fd: BorrowedFd<'_>, ip: IpAddr, ttl: u8) -> io::Result<()> {
    let (level, name) = if ip.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_TTL)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS)
    };
    set_option(fd.as_raw_fd(), level, name, &i32::from(ttl))
}

/// Has the time to live or hop limit of what is received handed over with it.
pub fn receive_ttl(fd: BorrowedFd<'_>, ip: IpAddr) -> io::Result<()> {
    let (level, name) = if ip.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_RECVTTL)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT)
    };
    set_option(fd.as_raw_fd(), level, name, &1i32)
}

/// Has the address that a packet was sent to handed over with it.
pub fn receive_local_address(fd: BorrowedFd<'_>, ip: IpAddr) -> io::Result<()> {
    let (level, name) = if ip.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_PKTINFO)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
    };
    set_option(fd.as_raw_fd(), level, name, &1i32)
}

/// Has ICMP errors about what was sent put on the error queue (`IP_RECVERR`, ip(7)).
pub fn receive_errors(fd: BorrowedFd<'_>, ip: IpAddr) -> io::Result<()> {
    let (level, name) = if ip.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    };
    set_option(fd.as_raw_fd(), level, name, &1i32)
}

/// Asks for buffers of this size in both directions: past the system's limit where
/// `CAP_NET_ADMIN` allows it, else up to the limit.
pub fn set_buffers(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    if setsockopt(&fd, sockopt::RcvBufForce, &bytes).is_err() {
        setsockopt(&fd, sockopt::RcvBuf, &bytes)?;
    }
    if setsockopt(&fd, sockopt::SndBufForce, &bytes).is_err() {
        setsockopt(&fd, sockopt::SndBuf, &bytes)?;
    }
    Ok(())
}
