//! Offloads of an interface in the caller's network namespace, set by ethtool's ioctl.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::request;

/// The ioctl of linux/sockios.h, and its commands of linux/ethtool.h: `ETHTOOL_STXCSUM`, `ETHTOOL_STSO`,
/// `ETHTOOL_SGSO` and `ETHTOOL_SGRO`.
const SIOCETHTOOL: libc::c_ulong = 0x8946;
const SET_TX_CHECKSUM: u32 = 0x17;
const SET_TSO: u32 = 0x1f;
const SET_GSO: u32 = 0x24;
const SET_GRO: u32 = 0x2c;

/// `struct ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Switch transmit checksums, TSO, GSO and GRO on or off. With them off a tap sees the frames that a cable
/// would carry. The order of the commands matters: segmentation needs checksums. Fails with `ENODEV` if there
/// is no such interface, with `EPERM` without `CAP_NET_ADMIN`, and with `EOPNOTSUPP` if the driver cannot
/// change one of TSO, GSO and GRO.
pub fn set_offloads(interface: &str, enabled: bool) -> io::Result<()> {
    let commands = if enabled {
        [SET_TX_CHECKSUM, SET_GSO, SET_TSO, SET_GRO]
    } else {
        [SET_TSO, SET_GSO, SET_GRO, SET_TX_CHECKSUM]
    };
    let flags = SockFlag::SOCK_CLOEXEC;
    let fd = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
    for command in commands {
        set(&fd, interface, command, enabled)?;
    }
    Ok(())
}

/// Set one offload. A driver that cannot change it (EOPNOTSUPP) is no error if the offload is already as
/// wanted.
fn set(fd: &OwnedFd, interface: &str, command: u32, enabled: bool) -> io::Result<()> {
    match ask(fd, interface, command, enabled.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            // The command that reads a setting is one less than the command that sets it.
            let is = ask(fd, interface, command - 1, 0)? != 0;
            // A checksum that is yet to be filled in (User-Mode Linux insists on that) changes nothing that a
            // tap sees. A segment of many frames does.
            if is == enabled || command == SET_TX_CHECKSUM { Ok(()) } else { Err(error) }
        }
        result => result.map(|_| ()),
    }
}

/// Send one command to the driver and return the value that it leaves.
fn ask(fd: &OwnedFd, interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    let mut request = request::about(interface);
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: `request` and the value that it points to live through the call.
    if unsafe { libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL, &raw mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value.data)
}
