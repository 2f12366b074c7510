//! Questions to the kernel's routing whose answer is a list (netlink(7), `NLM_F_DUMP`).

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

const HEADER: usize = 16;

/// Asks in the current network namespace; what stands behind the header of each answer.
pub(crate) fn dump(question: u16, message: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let protocol = SockProtocol::NetlinkRoute;
    let fd = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    let mut request = ((HEADER + message.len()) as u32).to_ne_bytes().to_vec();
    request.extend(question.to_ne_bytes());
    request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    request.extend([0; 8]);
    request.extend(message);
    send(fd.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut found = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = recv(fd.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let mut bytes = &buffer[..length];
        while bytes.len() >= HEADER {
            let field = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
            let length = (field(0) as usize).clamp(HEADER, bytes.len());
            let payload = &bytes[HEADER..length];
            match i32::from(u16::from_ne_bytes([bytes[4], bytes[5]])) {
                libc::NLMSG_DONE => return Ok(found),
                libc::NLMSG_ERROR => return Err(refused(payload)),
                _ => found.push(payload.to_vec()),
            }
            bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
        }
    }
}

fn refused(payload: &[u8]) -> io::Error {
    let errno = payload.get(..4).and_then(|errno| errno.try_into().ok()).map(i32::from_ne_bytes);
    io::Error::from_raw_os_error(errno.map_or(libc::EPROTO, i32::wrapping_neg))
}
