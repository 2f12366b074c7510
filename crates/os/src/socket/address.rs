//! Addresses in the kernel's format, in socket names and control messages.

use std::mem::zeroed;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};

/// Read the address from a name that the kernel wrote.
pub(super) fn read_address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let name_at = std::ptr::from_ref(name);
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the storage holds a sockaddr_in.
            let v4 = unsafe { *name_at.cast::<libc::sockaddr_in>() };
            let address = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some((address, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that the storage holds a sockaddr_in6.
            let v6 = unsafe { *name_at.cast::<libc::sockaddr_in6>() };
            let address = v6.sin6_addr.s6_addr.into();
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddrV6::new(address, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Write an address as a name for the kernel and return the name's length.
pub(super) fn write_address(
    address: SocketAddr,
    name: &mut libc::sockaddr_storage,
) -> libc::socklen_t {
    use nix::sys::socket::{SockaddrLike, SockaddrStorage};
    let storage = SockaddrStorage::from(address);
    // SAFETY: the storage is `len` bytes long, which is not more than a sockaddr_storage.
    unsafe {
        let to = std::ptr::from_mut(name).cast::<u8>();
        std::ptr::copy_nonoverlapping(storage.as_ptr().cast(), to, storage.len() as usize);
    }
    storage.len()
}

/// The buffer for the control message that [`write_source`] makes, aligned as the kernel requires.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceControl([u8; 40]);

impl SourceControl {
    pub(super) const EMPTY: Self = Self([0; 40]);
}

/// Write the control message that sets a packet's source address (`IP_PKTINFO`, ip(7); `IPV6_PKTINFO`,
/// ipv6(7)), and return its length.
pub(super) fn write_source(source: IpAddr, control: &mut SourceControl) -> usize {
    match source {
        IpAddr::V4(address) => {
            // SAFETY: all zeros is a valid in_pktinfo: any interface.
            let mut info: libc::in_pktinfo = unsafe { zeroed() };
            info.ipi_spec_dst.s_addr = u32::from(address).to_be();
            write_control(libc::IPPROTO_IP, libc::IP_PKTINFO, &info, control)
        }
        IpAddr::V6(address) => {
            // SAFETY: all zeros is a valid in6_pktinfo: any interface.
            let mut info: libc::in6_pktinfo = unsafe { zeroed() };
            info.ipi6_addr.s6_addr = address.octets();
            write_control(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info, control)
        }
    }
}

fn write_control<T: Copy>(level: i32, kind: i32, data: &T, control: &mut SourceControl) -> usize {
    let size = size_of::<T>() as u32;
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute; the buffer is aligned and holds the header
    // and the larger of the two infos: 16 + 20 bytes, padded to 40.
    unsafe {
        let header = control.0.as_mut_ptr().cast::<libc::cmsghdr>();
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        std::ptr::write_unaligned(libc::CMSG_DATA(header).cast(), *data);
        libc::CMSG_SPACE(size) as usize
    }
}
