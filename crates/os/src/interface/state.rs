//! The state of an interface: up or down, and its carrier.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::request;

/// Set an interface up or down (netdevice(7)). Succeed if it is so already. The peer of a veth that is down
/// has no carrier. Fails with `ENODEV` if there is no such interface, and with `EPERM` without
/// `CAP_NET_ADMIN`.
pub fn set_up(name: &str, up: bool) -> io::Result<()> {
    let kind = (SockType::Datagram, SockFlag::SOCK_CLOEXEC);
    let socket = socket(AddressFamily::Inet, kind.0, kind.1, None)?;
    let mut request = request::about(name);
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
