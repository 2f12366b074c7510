//! Requests about an interface by ioctl(2).

/// Build a request (`struct ifreq`, netdevice(7)) about an interface, all else zero. A name that is too long
/// is cut, and then names no interface.
pub(super) fn about(interface: &str) -> libc::ifreq {
    // SAFETY: ifreq is plain data for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero and ends the name.
    let room = &mut request.ifr_name[..libc::IFNAMSIZ - 1];
    for (to, from) in room.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request
}
