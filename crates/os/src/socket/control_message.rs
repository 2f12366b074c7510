//! Control messages of a received packet: stamps, hop limits, errors (cmsg(3), ip(7), ipv6(7),
//! Documentation/networking/timestamping.rst of the kernel).

use crate::clock::Realtime;
use std::net::IpAddr;

/// The steps of transmit stamps (linux/errqueue.h): the driver took the packet, or it entered the qdisc.
const SCM_TSTAMP_SND: u32 = 0;
const SCM_TSTAMP_SCHED: u32 = 1;

/// A step of a packet's way out through the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The packet entered the queueing discipline.
    Qdisc,
    /// The driver took the packet.
    Stack,
}

/// An ICMP error about a packet that was sent, or a local error of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// The error number that a system call would return.
    pub errno: i32,
    /// Type and code of the ICMP message; `None` for a local error.
    pub icmp: Option<(u8, u8)>,
    /// The source address of the ICMP message.
    pub offender: Option<IpAddr>,
}

/// The kernel's control messages for one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// The packet's stamp, in ns since the Unix epoch.
    pub time: Option<Realtime>,
    /// The remaining time to live or hop limit.
    pub ttl: Option<u8>,
    /// The packet's number and the step, for a transmit stamp.
    pub transmit: Option<(u32, Step)>,
    /// The packet's error, if it came back from the error queue.
    pub unreachable: Option<Unreachable>,
    /// The local address that the packet was sent to.
    pub local: Option<IpAddr>,
}

impl Control {
    /// Read the control messages of a packet that the kernel has just received into this header.
    pub(super) fn read(header: &libc::msghdr) -> Self {
        let mut control = Self::default();
        // SAFETY: the kernel filled in the header's control buffer and its length; the macros
        // walk it within that length.
        let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
        while !next.is_null() {
            // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return null or a whole header in the buffer.
            let (level, kind) = unsafe { ((*next).cmsg_level, (*next).cmsg_type) };
            control.take(level, kind, next);
            // SAFETY: as above.
            next = unsafe { libc::CMSG_NXTHDR(header, next) };
        }
        control
    }

    /// Read one control message; unknown ones are skipped.
    fn take(&mut self, level: i32, kind: i32, message: *const libc::cmsghdr) {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                // The kernel sends three stamps; the first is the software stamp.
                let time: libc::timespec = read_data(message);
                let time_ns = time.tv_sec * 1_000_000_000 + time.tv_nsec;
                self.time = (time_ns != 0).then_some(Realtime::from_ns(time_ns));
            }
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                let ttl: i32 = read_data(message);
                self.ttl = u8::try_from(ttl).ok();
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                let info: libc::in_pktinfo = read_data(message);
                self.local = Some(IpAddr::from(info.ipi_spec_dst.s_addr.to_ne_bytes()));
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                let info: libc::in6_pktinfo = read_data(message);
                self.local = Some(IpAddr::from(info.ipi6_addr.s6_addr));
            }
            (libc::IPPROTO_IP, libc::IP_RECVERR) => {
                let (error, name): (libc::sock_extended_err, libc::sockaddr_in) =
                    read_pair(message);
                let offender = IpAddr::from(name.sin_addr.s_addr.to_ne_bytes());
                self.take_error(&error, offender);
            }
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                let (error, name): (libc::sock_extended_err, libc::sockaddr_in6) =
                    read_pair(message);
                self.take_error(&error, IpAddr::from(name.sin6_addr.s6_addr));
            }
            _ => {}
        }
    }

    /// Read an entry of the error queue: a transmit stamp, an ICMP error or a local error.
    fn take_error(&mut self, error: &libc::sock_extended_err, offender: IpAddr) {
        match error.ee_origin {
            libc::SO_EE_ORIGIN_TIMESTAMPING => {
                let step = match error.ee_info {
                    SCM_TSTAMP_SND => Step::Stack,
                    SCM_TSTAMP_SCHED => Step::Qdisc,
                    _ => return,
                };
                self.transmit = Some((error.ee_data, step));
            }
            libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => {
                self.unreachable = Some(Unreachable {
                    errno: error.ee_errno as i32,
                    icmp: Some((error.ee_type, error.ee_code)),
                    offender: Some(offender).filter(|address| !address.is_unspecified()),
                });
            }
            _ => {
                let errno = error.ee_errno as i32;
                self.unreachable = Some(Unreachable { errno, icmp: None, offender: None });
            }
        }
    }
}

/// Read the data of a control message, which the kernel made at least as long as `T`.
fn read_data<T: Copy>(message: *const libc::cmsghdr) -> T {
    // SAFETY: the message's type determines its contents (socket(7), ip(7), ipv6(7)), and the
    // buffer behind it is larger than any of them; it may be less aligned than `T`.
    unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(message).cast()) }
}

/// Read two values, the second directly behind the first.
fn read_pair<A: Copy, B: Copy>(message: *const libc::cmsghdr) -> (A, B) {
    // SAFETY: as in `read_data`; the kernel always writes the address behind an extended error.
    unsafe {
        let data = libc::CMSG_DATA(message);
        (
            std::ptr::read_unaligned(data.cast()),
            std::ptr::read_unaligned(data.add(size_of::<A>()).cast()),
        )
    }
}
