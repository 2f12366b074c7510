//! Whether packets wait in a queue before an interface's driver takes them.

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use std::io;
use std::os::fd::AsRawFd;

const HEADER: usize = 16;
const IFINFO: usize = 16;
const IFLA_QDISC: u16 = 6;

/// Whether an interface has a queueing discipline other than `noqueue`.
pub fn has_queue(interface: u32) -> io::Result<bool> {
    let answer = ask(interface)?;
    let mut rest = answer.get(HEADER + IFINFO..).unwrap_or_default();
    while let Some((length, kind)) = attribute(rest) {
        if kind == IFLA_QDISC {
            return Ok(rest[4..length] != *b"noqueue\0");
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Err(io::Error::other("the kernel does not name the interface's queue"))
}

/// One `RTM_GETLINK` (rtnetlink(7)).
fn ask(interface: u32) -> io::Result<Vec<u8>> {
    let protocol = SockProtocol::NetlinkRoute;
    let fd = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    let mut request = [0; HEADER + IFINFO];
    request[..4].copy_from_slice(&((HEADER + IFINFO) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
    request[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request[HEADER + 4..HEADER + 8].copy_from_slice(&interface.to_ne_bytes());
    send(fd.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut answer = vec![0; 32 << 10];
    let length = recv(fd.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    answer.truncate(length);
    match answer.get(4..6) {
        Some(kind) if kind == libc::RTM_NEWLINK.to_ne_bytes() => Ok(answer),
        _ => Err(io::Error::from_raw_os_error(libc::ENODEV)),
    }
}

/// The length, with its header, and the kind of the attribute that `bytes` start with.
fn attribute(bytes: &[u8]) -> Option<(usize, u16)> {
    let field = |at| Some(u16::from_ne_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let length = usize::from(field(0)?);
    (4..=bytes.len()).contains(&length).then_some((length, field(2)?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn loopback_has_no_queue() {
        let loopback = nix::net::if_::if_nametoindex("lo").unwrap();
        assert!(!super::has_queue(loopback).unwrap());
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        let error = super::has_queue(i32::MAX as u32).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
