//! Queries to the kernel by rtnetlink: routes, and the qdisc, alias and bridge of an interface.

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

const HEADER: usize = 16;
/// The length of the fixed part behind a header: `ifinfomsg` here, `rtmsg` below (rtnetlink(7)).
const IFINFO: usize = 16;
const RTMSG: usize = 12;
const IFLA_QDISC: u16 = 6;

/// Return true if an interface has a qdisc other than `noqueue`, in which packets wait before its driver
/// takes them.
pub fn has_queue(interface: u32) -> io::Result<bool> {
    let name = of_interface(interface, IFLA_QDISC)?;
    name.map(|name| name != b"noqueue\0")
        .ok_or_else(|| io::Error::other("the kernel does not name the interface's queue"))
}

/// Return the alias of an interface; empty if it has none.
pub fn alias(interface: u32) -> io::Result<String> {
    let alias = of_interface(interface, libc::IFLA_IFALIAS)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&alias).trim_end_matches('\0').to_owned())
}

/// Return the index of the bridge that an interface is a port of.
pub fn master(interface: u32) -> io::Result<Option<u32>> {
    let master = of_interface(interface, libc::IFLA_MASTER)?;
    Ok(master.and_then(|index| index.try_into().ok()).map(u32::from_ne_bytes))
}

fn of_interface(interface: u32, wanted: u16) -> io::Result<Option<Vec<u8>>> {
    let mut message = [0; IFINFO];
    message[4..8].copy_from_slice(&interface.to_ne_bytes());
    let answer = ask(libc::RTM_GETLINK, libc::RTM_NEWLINK, &message)?;
    Ok(attribute(&answer[IFINFO..], wanted).map(<[u8]>::to_vec))
}

/// Return the index of the interface by which packets to an address leave.
pub fn interface_to(to: IpAddr) -> io::Result<u32> {
    let (family, address) = match to {
        IpAddr::V4(to) => (libc::AF_INET, to.octets().to_vec()),
        IpAddr::V6(to) => (libc::AF_INET6, to.octets().to_vec()),
    };
    let mut message = vec![0; RTMSG];
    message[0] = family as u8;
    message[1] = address.len() as u8 * 8;
    message.extend((4 + address.len() as u16).to_ne_bytes());
    message.extend(libc::RTA_DST.to_ne_bytes());
    message.extend(address);
    let answer = ask(libc::RTM_GETROUTE, libc::RTM_NEWROUTE, &message)?;
    attribute(&answer[RTMSG..], libc::RTA_OIF)
        .and_then(|index| index.try_into().ok())
        .map(u32::from_ne_bytes)
        .ok_or_else(|| io::Error::from_raw_os_error(libc::EHOSTUNREACH))
}

/// Send one request and return the data behind the answer's header.
fn ask(question: u16, expected: u16, message: &[u8]) -> io::Result<Vec<u8>> {
    let protocol = SockProtocol::NetlinkRoute;
    let fd = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    let mut request = ((HEADER + message.len()) as u32).to_ne_bytes().to_vec();
    request.extend(question.to_ne_bytes());
    request.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request.extend([0; 8]);
    request.extend(message);
    send(fd.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut answer = vec![0; 32 << 10];
    let length = recv(fd.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    answer.truncate(length);
    let kind = answer.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    if kind == Some(expected) && length >= HEADER + IFINFO {
        return Ok(answer.split_off(HEADER));
    }
    let errno = answer.get(HEADER..HEADER + 4).and_then(|errno| errno.try_into().ok());
    Err(io::Error::from_raw_os_error(errno.map_or(libc::EPROTO, |e| -i32::from_ne_bytes(e))))
}

/// Return the value of the first attribute of a kind.
pub(crate) fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let field = |at: usize| Some(u16::from_ne_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let (length, kind) = (usize::from(field(0)?), field(2)?);
        if kind == wanted {
            return bytes.get(4..length);
        }
        bytes = bytes.get(length.max(4).next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> u32 {
        nix::net::if_::if_nametoindex("lo").unwrap()
    }

    #[test]
    fn loopback_has_no_queue() {
        assert!(!has_queue(loopback()).unwrap());
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        let error = has_queue(i32::MAX as u32).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn packets_to_this_host_leave_by_loopback() {
        assert_eq!(interface_to("127.0.0.1".parse().unwrap()).unwrap(), loopback());
    }
}
