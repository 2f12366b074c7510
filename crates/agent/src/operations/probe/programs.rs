//! The common part of both kinds of sender that use programs at their interface.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use delaylab_os::netlink::routing;
use delaylab_os::socket;
use delaylab_os::socket::control_message::Step;
use delaylab_os::socket::filter::{Match, Transport};
use delaylab_os::stamps::{self, Wanted};
use delaylab_os::tcx::SenderSettings;
use delaylab_os::tcx::sender::TcxSender;
use delaylab_wire::MAGIC;

use super::log::Log;
use crate::protocol::measuring::{Probe, Protocol};
use crate::timing::steady;

/// The number of packets to take at once, so that sending never waits for long.
pub(super) const TAKE: usize = 256;

/// Attach the programs for a probe, if the request allows them and the kernel accepts them.
pub(super) fn open_programs(
    request: &Probe,
    interface: u32,
    to: SocketAddr,
    ident: u16,
) -> Option<Box<TcxSender>> {
    if !request.tcx {
        return None;
    }
    let (transport, port) = match request.protocol {
        Protocol::Icmp => (Transport::Icmp(ident), 0),
        Protocol::Udp => (Transport::Udp(to.port()), ident),
        Protocol::Tcp | Protocol::Http => return None,
    };
    let ip = if to.is_ipv4() { 4 } else { 6 };
    let wanted = Match { transport, ip, probe: request.probe, magic: MAGIC, snap: 128 };
    let sender = SenderSettings { port, first_seq: request.first_seq, count: request.count };
    TcxSender::open(interface, &wanted, &sender).ok().map(Box::new)
}

/// Attach the programs for a probe by a socket, if it measures rates: a closed loop without qdisc stamps. Its
/// replies need not pass this host's own stack.
pub(super) fn open_for_socket(
    request: &Probe,
    fd: BorrowedFd<'_>,
    to: SocketAddr,
    ident: u16,
) -> Option<Box<TcxSender>> {
    let stack_only = Wanted { qdisc: false, stack: true };
    if request.interval_ns != 0 || request.live || request.wanted() != stack_only {
        return None;
    }
    let interface = match to {
        SocketAddr::V6(to) if to.scope_id() != 0 => to.scope_id(),
        _ => routing::interface_to(to.ip()).ok()?,
    };
    // Replies that arrive at another interface get their stamps from the socket.
    stamps::keep_receive_stamps_on(fd).ok()?;
    let port = socket::local_address(fd).ok()?.port();
    let ident = if request.protocol == Protocol::Udp { port } else { ident };
    open_programs(request, interface, to, ident)
}

/// Record the transmit times of the packets at places `first..end`, which the kernel has taken.
pub(super) fn note_sent(programs: &TcxSender, log: &mut Log, first: u32, end: u32) {
    for place in first..end {
        if let Some(time) = programs.sent(place) {
            log.note_transmit(place, Step::Stack, time);
        }
    }
}

/// Take replies from the programs and return their number.
pub(super) fn take_replies(programs: &mut TcxSender, log: &mut Log) -> usize {
    let mut now = steady::now_ns();
    programs.drain(TAKE, |reply| {
        // One clock read serves all replies that had arrived by then.
        if reply.time > log.clock_steps.clock_at(now) {
            now = steady::now_ns();
        }
        if let Some(place) = log.place_of_seq(reply.seq) {
            log.note_reply(place, Some(reply.time), Some(reply.ttl), now);
        }
    })
}
