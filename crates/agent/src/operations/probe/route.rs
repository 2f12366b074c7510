//! The headers of packets to a responder, copied from a packet that the kernel itself sends there: it knows
//! the route, the source address and the neighbour's MAC address.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use delaylab_os::netlink::routing::{NextHop, Resolution, next_hop, resolution};
use delaylab_os::ring::Captured;
use delaylab_os::ring::frames::FrameRing;
use delaylab_os::socket::batch::SendBatch;
use delaylab_os::socket::filter::{Match, Program, Transport};
use delaylab_os::socket::{self, Flavour};
use delaylab_proto::Failure;
use delaylab_wire::{
    ECHO_HEADER, ETHERNET_HEADER, EchoRepr, EthernetRepr, EthernetView, IpRepr, IpView, Leg,
    ProbeRepr, Protocol as Number, Sum, UDP_HEADER, UdpRepr, pseudo_header,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::time::TimeSpec;

use crate::protocol::measuring::{Probe, Protocol};

/// The time in ms between two looks at the kernel's search for the neighbour.
const LOOK: u8 = 100;
/// The time that the kernel's packet has to pass the interface once the neighbour is not being asked for.
const UNHEARD: Duration = Duration::from_secs(3);

/// The bytes of a packet that hold all of its headers.
const HEADERS: usize = 128;

/// The fields that are the same in all packets of a probe.
#[derive(Debug)]
pub(super) struct ProbeRoute {
    /// The index of the egress interface.
    pub interface: u32,
    ethernet: EthernetRepr,
    ip: IpRepr,
    /// The ICMP identifier, or the UDP source port.
    pub ident: u16,
    /// The UDP destination port; 0 for ICMP.
    pub port: u16,
    /// A socket that keeps the identifier or port reserved, so that the kernel answers no reply with an
    /// error.
    _holder: OwnedFd,
}

impl ProbeRoute {
    /// Send one packet by an ordinary socket and read its headers. Blocks for up to 3 s.
    pub(super) fn find(request: &Probe) -> Result<Self, Failure> {
        let to = request.destination()?;
        let failure = |error: std::io::Error| Failure::new(format!("reach {}", request.to), error);
        let (holder, flavour, ident) = match request.protocol {
            Protocol::Udp => {
                let fd = socket::udp(request.local(to.ip())).map_err(failure)?;
                let port = socket::local_address(fd.as_fd()).map_err(failure)?.port();
                (fd, Flavour::Udp, port)
            }
            Protocol::Icmp => socket::icmp(request.local(to.ip())).map_err(failure)?,
            _ => {
                return Err(failure(std::io::ErrorKind::Unsupported.into()));
            }
        };
        Program::nothing().attach(holder.as_fd()).map_err(failure)?;
        request.set_options(holder.as_fd(), to.ip()).map_err(failure)?;
        socket::connect_to(holder.as_fd(), to).map_err(failure)?;
        let filter = filter(request, to.ip(), ident, SCOUT, 0, HEADERS as u32);
        let mut ring = FrameRing::open(0, &filter, 64, HEADERS, true).map_err(|error| {
            failure(error).fix("packet mode needs CAP_NET_RAW; use mode \"socket\" without it")
        })?;
        let mut scout = scout(flavour, to.ip(), ident);
        scout.send(holder.as_fd(), 0, 1).map_err(failure)?;
        let start = Instant::now();
        let mut route = None;
        while route.is_none() {
            // An interrupted wait is only a shorter one.
            let mut fds = [PollFd::new(ring.fd(), PollFlags::POLLIN)];
            let heard = poll(&mut fds, PollTimeout::from(LOOK)).unwrap_or(0);
            if heard == 0
                && start.elapsed() > if is_pending(request, to) { PATIENCE } else { UNHEARD }
            {
                return Err(Failure::new(format!("reach {}", request.to), "no neighbour answers"));
            }
            ring.drain(64, |frame| {
                if frame.outgoing && route.is_none() {
                    route = headers(&frame);
                }
            });
        }
        let (interface, ethernet, ip) = route.expect("the loop ends with a route");
        if ethernet.to == [0; 6] {
            // On loopback the kernel drops packets from packet sockets as martians.
            return Err(Failure::new(
                format!("reach {} in packet mode", request.to),
                "that is this host itself",
            )
            .fix("use mode \"socket\""));
        }
        Ok(Self { interface, ethernet, ip, ident, port: to.port(), _holder: holder })
    }

    /// Return the address that is probed.
    pub(super) fn to(&self) -> IpAddr {
        self.ip.to
    }

    /// Return the length of a frame with `size` bytes behind the ICMP or UDP header.
    pub(super) fn frame_length(&self, size: usize) -> usize {
        ETHERNET_HEADER + self.ip.length() + UDP_HEADER + size
    }

    /// Write a whole frame.
    pub(super) fn emit(&self, frame: &mut [u8], probe: ProbeRepr) {
        let start = ETHERNET_HEADER + self.ip.length();
        let message = &mut frame[start..];
        probe.emit(&mut message[UDP_HEADER..]);
        let IpRepr { from, to, protocol, .. } = self.ip;
        let pseudo = match protocol {
            Number::Icmp => Sum::default(),
            _ => pseudo_header(from, to, protocol as u8, message.len()),
        };
        if protocol == Number::Udp {
            UdpRepr { from_port: self.ident, to_port: self.port }.emit(message, pseudo);
        } else {
            let echo = EchoRepr { leg: Leg::Request, ident: self.ident, seq: probe.seq as u16 };
            echo.emit(message, protocol, pseudo);
        }
        self.ip.emit(&mut frame[ETHERNET_HEADER..]);
        self.ethernet.emit(frame);
    }
}

/// Build a filter for this probe's packets on an interface, of which `snap` bytes are kept.
pub(super) fn filter(
    request: &Probe,
    to: IpAddr,
    ident: u16,
    magic: u32,
    probe: u32,
    snap: u32,
) -> Program {
    let transport = match request.protocol {
        Protocol::Icmp => Transport::Icmp(ident),
        Protocol::Udp => Transport::Udp(ident),
        Protocol::Tcp => Transport::Tcp(request.port),
        Protocol::Http | Protocol::Https => Transport::TcpData(request.port),
        Protocol::Dns | Protocol::Datagram => Transport::Datagrams(request.port),
    };
    let ip = if to.is_ipv4() { 4 } else { 6 };
    Program::frames(&Match { transport, ip, probe, magic, snap })
}

fn headers(frame: &Captured<'_>) -> Option<(u32, EthernetRepr, IpRepr)> {
    let view = EthernetView::new(frame.data).ok()?;
    let ethernet = EthernetRepr::parse(&view).ok()?;
    let ip = IpRepr::parse(&IpView::in_frame(&view).ok()?).ok()?;
    Some((frame.interface, ethernet, ip))
}

/// The mark of the packet that makes the kernel resolve. It is not a probe's magic number, so no tap takes it
/// for a probe packet.
pub(super) const SCOUT: u32 = 0x646c_3f3f;
/// The most time that the kernel has to resolve the neighbour. It gives up after three seconds, on a link with
/// a long delay after some seconds more than that.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
/// The time between two looks: a sixteenth of the time so far, within these limits.
const LOOKS: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(50)..=Duration::from_millis(5);

/// Make the kernel resolve the neighbour of packets to `to` and return how long it took in ns; `None` if the
/// neighbour was known, or could not be resolved: then the packets themselves fail with the reason. Ends early
/// if the client gives an order.
///
/// Without this the kernel would hold the first packet until the neighbour answers, and the wait would look like
/// delay of this machine.
pub(super) fn resolve(request: &Probe, to: SocketAddr, orders: BorrowedFd<'_>) -> Option<i64> {
    let hop = match to {
        SocketAddr::V6(local) if local.scope_id() != 0 => {
            NextHop { interface: local.scope_id(), neighbour: to.ip(), source: None }
        }
        _ => next_hop(to.ip(), request.named_interface(to).ok()?).ok()?,
    };
    if resolution(hop).ok()? == Resolution::Known {
        return None;
    }
    let start = Instant::now();
    send_scout(request, to).ok()?;
    while start.elapsed() < PATIENCE {
        match resolution(hop).ok()? {
            Resolution::Known => return i64::try_from(start.elapsed().as_nanos()).ok(),
            Resolution::Unknown => return None,
            Resolution::Pending => {}
        }
        let pause = (start.elapsed() / 16).clamp(*LOOKS.start(), *LOOKS.end());
        let mut fds = [PollFd::new(orders, PollFlags::POLLIN)];
        if ppoll(&mut fds, Some(TimeSpec::from_duration(pause)), None).is_ok_and(|ready| ready > 0)
        {
            return None;
        }
    }
    None
}

/// Return true while the kernel waits for an answer of the neighbour of packets to `to`.
fn is_pending(request: &Probe, to: SocketAddr) -> bool {
    let interface = request.named_interface(to).ok().flatten();
    next_hop(to.ip(), interface)
        .and_then(resolution)
        .is_ok_and(|state| state == Resolution::Pending)
}

/// Send one packet that ends at the first router.
fn send_scout(request: &Probe, to: SocketAddr) -> io::Result<()> {
    let local = request.source.map_or_else(|| socket::any(to.ip(), 0), |from| (from, 0).into());
    let (fd, flavour, ident) = socket::icmp(local)?;
    request.set_options(fd.as_fd(), to.ip())?;
    socket::set_ttl(fd.as_fd(), to.ip(), 1)?;
    socket::connect_to(fd.as_fd(), to)?;
    scout(flavour, to.ip(), ident).send(fd.as_fd(), 0, 1).map(drop)
}

/// Build a packet with the scout's mark.
pub(super) fn scout(flavour: Flavour, to: IpAddr, ident: u16) -> SendBatch {
    let header = if flavour == Flavour::Udp { 0 } else { ECHO_HEADER };
    let mut batch = SendBatch::new(1, header + size_of_val(&SCOUT));
    let message = batch.slot(0);
    message[header..].copy_from_slice(&SCOUT.to_be_bytes());
    if flavour != Flavour::Udp {
        let protocol = if to.is_ipv4() { Number::Icmp } else { Number::Icmpv6 };
        EchoRepr { leg: Leg::Request, ident, seq: 0 }.emit(message, protocol, Sum::default());
    }
    batch
}
