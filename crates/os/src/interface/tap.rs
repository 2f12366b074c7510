//! TAP interfaces: the host's end of a virtual machine's cable (Documentation/networking/tuntap.rst).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use libc::{IFF_NO_PI, IFF_TAP};

use super::request;

/// The ioctls of linux/if_tun.h.
mod ioctl {
    use libc::{c_int, c_uint};

    nix::ioctl_write_ptr!(set_interface, b'T', 202, c_int);
    nix::ioctl_write_int!(set_persistent, b'T', 203);
    nix::ioctl_write_ptr!(set_index, b'T', 218, c_uint);
}

/// Create a TAP with this interface index in the current network namespace. It lives as long as the
/// namespace. Fails if the name or the index is taken, and with `EPERM` without `CAP_NET_ADMIN`.
pub fn make(name: &str, index: u32) -> io::Result<()> {
    let device = File::options().read(true).write(true).open("/dev/net/tun")?;
    let mut request = request::about(name);
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
