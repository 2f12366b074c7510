//! Network interfaces of the current network namespace: their numbers, state and settings.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use libc::{IFF_NO_PI, IFF_TAP};
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::net::if_::{Interface, if_nameindex, if_nametoindex};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::Mode;

use crate::process::scheduling::online_cpus;

/// Return the index of an interface in the current network namespace (if_nametoindex(3)). Fails with `ENODEV`
/// if it has none of this name.
pub fn interface_index(name: &str) -> io::Result<u32> {
    Ok(if_nametoindex(name)?)
}

/// Return the highest interface index in the current network namespace; 0 if it has no interface.
pub fn highest_index() -> io::Result<u32> {
    Ok(if_nameindex()?.iter().map(Interface::index).max().unwrap_or(0))
}

/// Facts about an interface (netdevice(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// True for the loopback.
    pub is_loopback: bool,
    /// True if it was set up.
    pub is_up: bool,
    /// True if it carries Ethernet frames.
    pub is_ethernet: bool,
    /// The maximum transmission unit, in bytes.
    pub mtu: u32,
    /// The MAC address; zeros if it has none.
    pub mac: [u8; 6],
}

/// Return facts about an interface of the current network namespace. Fails with `ENODEV` if it has none of this
/// name.
pub fn facts(name: &str) -> io::Result<Facts> {
    let kind = (SockType::Datagram, SockFlag::SOCK_CLOEXEC);
    let socket = socket(AddressFamily::Inet, kind.0, kind.1, None)?;
    let ask = |question: libc::Ioctl| {
        let mut request = request_about(name);
        // SAFETY: `request` is a whole ifreq and lives through the call.
        let result = unsafe { libc::ioctl(socket.as_raw_fd(), question, &raw mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(request.ifr_ifru) }
    };
    // SAFETY: each request fills in the field of the union that is read.
    let (flags, mtu, hardware) = unsafe {
        (
            i32::from(ask(libc::SIOCGIFFLAGS)?.ifru_flags),
            ask(libc::SIOCGIFMTU)?.ifru_mtu,
            ask(libc::SIOCGIFHWADDR)?.ifru_hwaddr,
        )
    };
    let mut mac = [0; 6];
    for (octet, said) in mac.iter_mut().zip(hardware.sa_data) {
        *octet = said.cast_unsigned();
    }
    Ok(Facts {
        is_loopback: flags & libc::IFF_LOOPBACK != 0,
        is_up: flags & libc::IFF_UP != 0,
        is_ethernet: hardware.sa_family == libc::ARPHRD_ETHER,
        mtu: mtu.unsigned_abs(),
        mac,
    })
}

/// Return the names of the interfaces of the current network namespace.
pub fn names() -> io::Result<Vec<String>> {
    let all = if_nameindex()?;
    Ok(all.iter().map(|one| one.name().to_string_lossy().into_owned()).collect())
}

/// Set an interface up or down (netdevice(7)). Succeed if it is so already. The peer of a veth that is down
/// has no carrier. Fails with `ENODEV` if there is no such interface, and with `EPERM` without
/// `CAP_NET_ADMIN`.
pub fn set_up(name: &str, up: bool) -> io::Result<()> {
    let kind = (SockType::Datagram, SockFlag::SOCK_CLOEXEC);
    let socket = socket(AddressFamily::Inet, kind.0, kind.1, None)?;
    let mut request = request_about(name);
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
/// would carry. Fails with `ENODEV` if there is no such interface, with `EPERM` without `CAP_NET_ADMIN`, and with
/// `EOPNOTSUPP` if the driver cannot change one of TSO, GSO and GRO.
pub fn set_offloads(interface: &str, enabled: bool) -> io::Result<()> {
    // Segmentation needs checksums, so these are switched on first. They are also switched off first: TSO goes off
    // with them, and the kernel tells all listeners of one change instead of two.
    let commands = [SET_TX_CHECKSUM, SET_GSO, SET_TSO, SET_GRO];
    let flags = SockFlag::SOCK_CLOEXEC;
    let fd = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
    for command in commands {
        set_offload(&fd, interface, command, enabled)?;
    }
    Ok(())
}

/// Set one offload. A driver that cannot change it (EOPNOTSUPP) is no error if the offload is already as
/// wanted.
fn set_offload(fd: &OwnedFd, interface: &str, command: u32, enabled: bool) -> io::Result<()> {
    match ask_driver(fd, interface, command, enabled.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            // The command that reads a setting is one less than the command that sets it.
            let is = ask_driver(fd, interface, command - 1, 0)? != 0;
            // A checksum that is yet to be filled in (User-Mode Linux insists on that) changes nothing that a
            // tap sees. A segment of many frames does.
            if is == enabled || command == SET_TX_CHECKSUM { Ok(()) } else { Err(error) }
        }
        result => result.map(|_| ()),
    }
}

/// Send one command to the driver and return the value that it leaves.
fn ask_driver(fd: &OwnedFd, interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    let mut request = request_about(interface);
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: `request` and the value that it points to live through the call.
    if unsafe { libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL, &raw mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value.data)
}

/// Process an interface's received packets on any CPU but these. `sys` is the namespace's `/sys`
/// ([`crate::files::mount::detached_sys`]). Needs `CAP_NET_ADMIN` outside of user namespaces. Fails with
/// `InvalidInput` if no CPU is left.
pub fn keep_off_cpus(sys: BorrowedFd<'_>, interface: &str, cpus: &[usize]) -> io::Result<()> {
    let others: Vec<usize> = (0..online_cpus()).filter(|cpu| !cpus.contains(cpu)).collect();
    if others.is_empty() {
        let why = format!("the machine has {} CPUs, and no others than these", online_cpus());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let path = format!("class/net/{interface}/queues/rx-0/rps_cpus");
    let file = openat(sys, path.as_str(), OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    let mask = mask(&others);
    let written = nix::unistd::write(&file, mask.as_bytes())?;
    if written == mask.len() { Ok(()) } else { Err(Errno::EINVAL.into()) }
}

/// Format CPUs as the kernel's bit mask: hexadecimal words of 32 bits, the highest first.
fn mask(cpus: &[usize]) -> String {
    let words = cpus.iter().max().map_or(0, |most| most / 32) + 1;
    let word = |number: usize| {
        let inside = cpus.iter().filter(|&&cpu| cpu / 32 == number);
        format!("{:08x}", inside.fold(0u32, |bits, cpu| bits | 1 << (cpu % 32)))
    };
    (0..words).rev().map(word).collect::<Vec<_>>().join(",")
}

/// The ioctls of linux/if_tun.h.
mod ioctl {
    use libc::{c_int, c_uint};

    nix::ioctl_write_ptr!(set_interface, b'T', 202, c_int);
    nix::ioctl_write_int!(set_persistent, b'T', 203);
    nix::ioctl_write_ptr!(set_index, b'T', 218, c_uint);
}

/// Create a TAP with this interface index in the current network namespace. It lives as long as the
/// namespace. Fails if the name or the index is taken, and with `EPERM` without `CAP_NET_ADMIN`.
pub fn make_tap(name: &str, index: u32) -> io::Result<()> {
    let device = File::options().read(true).write(true).open("/dev/net/tun")?;
    let mut request = request_about(name);
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(IFF_TAP | IFF_NO_PI).expect("two bits");
    let fd = device.as_raw_fd();
    // SAFETY: the kernel reads one `c_uint`, then a whole `ifreq`, both alive; the last takes an integer.
    unsafe {
        ioctl::set_index(fd, &raw const index)?;
        ioctl::set_interface(fd, (&raw const request).cast())?;
        ioctl::set_persistent(fd, 1)?;
    }
    Ok(())
}

/// Build a request (`struct ifreq`, netdevice(7)) about an interface, all else zero. A name that is too long
/// is cut, and then names no interface.
fn request_about(interface: &str) -> libc::ifreq {
    // SAFETY: ifreq is plain data for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero and ends the name.
    let room = &mut request.ifr_name[..libc::IFNAMSIZ - 1];
    for (to, from) in room.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn cpus_are_written_as_the_kernel_reads_them() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[1, 3, 31]), "8000000a");
        assert_eq!(mask(&[0, 33, 64]), "00000001,00000002,00000001");
    }

    #[test]
    fn a_machine_without_other_cpus_is_refused_before_anything_is_opened() {
        let nowhere = std::fs::File::open("/").unwrap();
        let all: Vec<usize> = (0..online_cpus()).collect();
        let error = keep_off_cpus(nowhere.as_fd(), "lo", &all).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
