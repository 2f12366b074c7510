//! The link-layer address of the next hop, resolved before the first packet: the kernel would otherwise hold that
//! packet until the neighbour answers, and the wait would look like delay of this machine.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use delaylab_os::netlink::routing::{NextHop, Resolution, next_hop, resolution};
use delaylab_os::socket::batch::SendBatch;
use delaylab_os::socket::{self, Flavour};
use delaylab_wire::{ECHO_HEADER, EchoRepr, Leg, Protocol as Number, Sum};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::protocol::measuring::Probe;

/// The mark of the packet that makes the kernel resolve. It is not a probe's magic number, so no tap takes it
/// for a probe packet.
pub(super) const SCOUT: u32 = 0x646c_3f3f;
/// The most time that the kernel has to resolve the neighbour. It gives up after three seconds, on a link with
/// a long delay after some seconds more than that.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
/// The time between two looks: a sixteenth of the time so far, within these limits.
const LOOK: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(50)..=Duration::from_millis(5);

/// Make the kernel resolve the neighbour of packets to `to` and return how long it took in ns; `None` if the
/// neighbour was known, or could not be resolved: then the packets themselves fail with the reason. Ends early
/// if the client gives an order.
pub(super) fn resolve(request: &Probe, to: SocketAddr, orders: BorrowedFd<'_>) -> Option<i64> {
    let hop = match to {
        SocketAddr::V6(local) if local.scope_id() != 0 => {
            NextHop { interface: local.scope_id(), neighbour: to.ip() }
        }
        _ => next_hop(to.ip()).ok()?,
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
        let pause = (start.elapsed() / 16).clamp(*LOOK.start(), *LOOK.end());
        let mut fds = [PollFd::new(orders, PollFlags::POLLIN)];
        if ppoll(&mut fds, Some(TimeSpec::from_duration(pause)), None).is_ok_and(|ready| ready > 0)
        {
            return None;
        }
    }
    None
}

/// Return true while the kernel waits for an answer of the neighbour of packets to `to`.
pub(super) fn is_pending(to: SocketAddr) -> bool {
    next_hop(to.ip()).and_then(resolution).is_ok_and(|state| state == Resolution::Pending)
}

/// Send one packet that ends at the first router.
fn send_scout(request: &Probe, to: SocketAddr) -> io::Result<()> {
    let local = request.source.map_or_else(|| socket::any(to.ip(), 0), |from| (from, 0).into());
    let (fd, flavour, ident) = socket::icmp(local)?;
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
