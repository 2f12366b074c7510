//! Interfaces: setting them up or down, and waiting for network cards and their carrier.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

use crate::poll::{self, Want};

/// Wait until `found` returns something; call it again after every change of any interface. Return `None` if
/// the time runs out.
///
/// The kernel announces changes to this socket's multicast group (rtnetlink(7), `RTMGRP_LINK`).
pub fn wait<T>(patience: Duration, mut found: impl FnMut() -> Option<T>) -> io::Result<Option<T>> {
    let kind = (SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
    let changes: OwnedFd = socket(AddressFamily::Netlink, kind.0, kind.1, kind.2)?;
    bind(changes.as_raw_fd(), &NetlinkAddr::new(0, libc::RTMGRP_LINK.cast_unsigned()))?;
    let deadline = Instant::now() + patience;
    let mut announced = [0; 16 << 10];
    loop {
        if let Some(found) = found() {
            return Ok(Some(found));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if poll::wait(&[(changes.as_fd(), Want::Read)], Some(left))?[0] {
            // The notification's contents do not matter: `found` reads the state of the cards themselves.
            recv(changes.as_raw_fd(), &mut announced, MsgFlags::MSG_DONTWAIT)?;
        }
    }
}

/// Set an interface up or down (netdevice(7)). Succeed if it is so already. The peer of a veth that is down
/// has no carrier.
pub fn set_up(name: &str, up: bool) -> io::Result<()> {
    let kind = (SockType::Datagram, SockFlag::SOCK_CLOEXEC);
    let socket = socket(AddressFamily::Inet, kind.0, kind.1, None)?;
    // SAFETY: ifreq is plain data for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero and ends the name.
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    let mut ask = |question: libc::Ioctl| {
        // SAFETY: `request` is a whole ifreq and lives through the call.
        let result = unsafe { libc::ioctl(socket.as_raw_fd(), question, &raw mut request) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let flag = libc::IFF_UP as libc::c_short;
        // SAFETY: both requests read or write the flags of the union.
        let flags = unsafe { &mut request.ifr_ifru.ifru_flags };
        *flags = if up { *flags | flag } else { *flags & !flag };
        Ok(())
    };
    ask(libc::SIOCGIFFLAGS)?;
    ask(libc::SIOCSIFFLAGS)
}

/// Return true if an interface has a carrier. An interface that is down has no readable carrier file.
#[must_use]
pub fn has_carrier(name: &str) -> bool {
    fs::read_to_string(format!("/sys/class/net/{name}/carrier"))
        .is_ok_and(|carrier| carrier.trim() == "1")
}
