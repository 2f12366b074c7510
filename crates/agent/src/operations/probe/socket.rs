//! Probes by ICMP and UDP sockets.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::clock::{Monotonic, Realtime};
use delaylab_os::socket::batch::{ReceiveBatch, SendBatch};
use delaylab_os::socket::control_message::{Step, Unreachable};
use delaylab_os::socket::{self, Flavour};
use delaylab_os::stamps::StampIds;
use delaylab_os::tcx::sender::TcxSender;
use delaylab_proto::{Context, Failure};
use delaylab_wire::{
    ECHO_HEADER, EchoRepr, EchoView, Leg, ProbeRepr, ProbeView, Protocol as IpProtocol, Sum,
};
use nix::errno::Errno;

use super::engine::ProbePath;
use super::log::Log;
use super::observer::{note_sent, open_for_socket, take_replies};
use super::reply::{Expected, Received};
use crate::protocol::measuring::{By, Probe, Protocol, Warning, WarningKind};

/// The bytes of an error's packet to receive: an ICMP and a probe header, and more than that.
const QUOTED: usize = 128;
/// The bytes of a reply to receive beyond those that were sent: an IPv4 header with options, and data that its sender
/// has added.
const MORE: usize = 60 + 1500;

/// The error of a packet whose reply was corrupted.
const CORRUPTED: &str = "its reply came with a wrong checksum";

/// A socket for probes. It is connected, but for a raw one, which is to receive the replies of other addresses too, as
/// the kernel's own echo sockets do.
#[derive(Debug)]
pub(super) struct PathBySocket {
    fd: OwnedFd,
    flavour: Flavour,
    to: SocketAddr,
    ident: u16,
    expected: Expected,
    outgoing: SendBatch,
    incoming: ReceiveBatch,
    errors: ReceiveBatch,
    ids: Option<StampIds>,
    /// The programs that take the replies and stamps of a closed loop.
    programs: Option<Box<TcxSender>>,
    /// The number of hops that are probed in turn; 0 if all packets have one TTL.
    hops: u8,
    /// An ICMP error that could not be attributed to a packet.
    unattributed: Option<String>,
}

impl PathBySocket {
    pub(super) fn open(request: &Probe) -> Result<Self, Failure> {
        let to = request.destination()?;
        let (fd, flavour, ident) = match request.protocol {
            Protocol::Udp => {
                let fd = socket::udp(request.local(to.ip())).context("bind UDP socket")?;
                (fd, Flavour::Udp, request.ident)
            }
            Protocol::Icmp => socket::icmp(request.local(to.ip())).map_err(|error| {
                Failure::new("open ICMP socket", error)
                    .fix("sysctl -w net.ipv4.ping_group_range='0 2147483647', or run as root")
            })?,
            _ => {
                return Err(Failure::new("open a socket", "TCP has one per packet"));
            }
        };
        prepare(fd.as_fd(), flavour, to, request)
            .with_context(|| format!("reach {}", request.to))?;
        let wanted = request.wanted();
        let programs = open_for_socket(request, fd.as_fd(), to, ident);
        let ids = (programs.is_none() && (wanted.qdisc || wanted.stack))
            .then(|| StampIds::start(fd.as_fd(), wanted, 0))
            .transpose()
            .context("enable kernel stamps")?;
        let header = if flavour == Flavour::Udp { 0 } else { ECHO_HEADER };
        let slots = usize::from(request.batch);
        let mut outgoing = SendBatch::new(slots, header + request.size);
        if flavour == Flavour::IcmpRaw {
            outgoing.address_all(to);
        }
        // A live packet says who answered. The kernel gives all sockets for ICMP the replies of others, too.
        let (room, bytes) = (slots.max(64), MORE + ECHO_HEADER + request.size);
        let incoming = match request.live || flavour != Flavour::Udp {
            true => ReceiveBatch::with_sources(room, bytes),
            false => ReceiveBatch::without_sources(room, bytes),
        };
        let protocol = if to.is_ipv4() { IpProtocol::Icmp } else { IpProtocol::Icmpv6 };
        let size = request.size;
        Ok(Self {
            fd,
            flavour,
            to,
            ident,
            expected: Expected { flavour, protocol, to: to.ip(), size },
            outgoing,
            incoming,
            errors: ReceiveBatch::without_sources(128, QUOTED),
            ids,
            programs,
            hops: request.hops,
            unattributed: None,
        })
    }

    fn fill(&mut self, slot: usize, repr: ProbeRepr) {
        let (flavour, protocol) = (self.flavour, self.expected.protocol);
        let message = self.outgoing.slot(slot);
        if flavour == Flavour::Udp {
            repr.emit(message);
            return;
        }
        repr.emit(&mut message[ECHO_HEADER..]);
        let echo = EchoRepr { leg: Leg::Request, ident: self.ident, seq: repr.seq as u16 };
        echo.emit(message, protocol, Sum::default());
    }

    /// Restart the numbering of stamps after a refusal, from the packet at `place` on.
    fn restart_ids(&mut self, log: &mut Log, place: u32) -> Result<(), Failure> {
        self.collect(log)?;
        match &mut self.ids {
            Some(ids) => ids.restart(self.fd.as_fd(), place).context("number kernel stamps anew"),
            None => Ok(()),
        }
    }

    fn note_unreachable(
        &mut self,
        log: &mut Log,
        bytes: &[u8],
        error: Unreachable,
        time: Option<Realtime>,
    ) {
        if self.is_about_another_socket(bytes, error) || is_no_loss(self.to, error) {
            return;
        }
        let text = describe(error);
        let place = self.place_of(log, bytes);
        if let (1.., Some(place), Some(router)) = (self.hops, place, self.expired_at(error)) {
            return log.note_expired(place, (router, 0).into(), time, Monotonic::now());
        }
        match place {
            Some(place) => log.note_error(place, &text),
            None => self.unattributed = Some(text),
        }
    }

    /// Return true for an ICMP error that a raw socket got about another socket's packet: it gets those about all.
    fn is_about_another_socket(&self, bytes: &[u8], error: Unreachable) -> bool {
        let ours = |echo: EchoView<'_>| echo.leg() == Leg::Request && echo.ident() == self.ident;
        self.flavour == Flavour::IcmpRaw
            && error.icmp.is_some()
            && !EchoView::new(bytes, self.expected.protocol).is_ok_and(ours)
    }

    /// Return the router that sent an ICMP message of type "time exceeded in transit".
    fn expired_at(&self, error: Unreachable) -> Option<IpAddr> {
        let time_exceeded = if self.to.is_ipv4() { (11, 0) } else { (3, 0) };
        error.offender.filter(|_| error.icmp == Some(time_exceeded))
    }

    /// Return the place of the packet quoted in an error. A router may quote no more than 8 bytes of it: the
    /// ICMP header, whose sequence number holds the low 16 bits of the probe's.
    fn place_of(&self, log: &Log, bytes: &[u8]) -> Option<u32> {
        let by_header = |data| {
            let header = ProbeView::new(data).ok()?;
            log.place(header.probe(), header.seq())
        };
        if self.flavour == Flavour::Udp {
            return by_header(bytes);
        }
        let echo = EchoView::new(bytes, self.expected.protocol).ok()?;
        by_header(echo.payload()).or_else(|| log.last_with_low_bits(echo.seq()))
    }
}

fn prepare(
    fd: BorrowedFd<'_>,
    flavour: Flavour,
    to: SocketAddr,
    request: &Probe,
) -> io::Result<()> {
    socket::set_buffers(fd, socket::LARGE_BUFFER)?;
    socket::receive_errors(fd, to.ip())?;
    request.set_options(fd, to.ip())?;
    if request.live {
        socket::receive_ttl(fd, to.ip())?;
    }
    if flavour == Flavour::IcmpRaw {
        return socket::check_route(request.local(to.ip()), to, request.interface.as_deref());
    }
    socket::connect_to(fd, to)
}

pub(super) fn describe(error: Unreachable) -> String {
    let text = io::Error::from_raw_os_error(error.errno);
    let origin = error.offender.map(|address: IpAddr| format!(", from {address}"));
    let origin = origin.unwrap_or_default();
    match error.icmp {
        Some((kind, code)) => format!("{text} (ICMP type {kind} code {code}{origin})"),
        None => text.to_string(),
    }
}

/// Return true for messages about a packet that went on: another router is nearer (a redirect, RFC 792, RFC 4861), or
/// the sender should send less (a source quench, RFC 792). The kernel's echo sockets report them as errors.
fn is_no_loss(to: SocketAddr, error: Unreachable) -> bool {
    let went_on: &[u8] = if to.is_ipv4() { &[4, 5] } else { &[137] };
    error.icmp.is_some_and(|(kind, _)| went_on.contains(&kind))
}

/// Return true for errors that a socket may report about an earlier packet.
fn may_be_about_another(error: &io::Error) -> bool {
    let errno = Errno::from_raw(error.raw_os_error().unwrap_or(0));
    matches!(
        errno,
        Errno::ECONNREFUSED
            | Errno::EHOSTUNREACH
            | Errno::ENETUNREACH
            | Errno::EPROTO
            | Errno::ENOPROTOOPT
            | Errno::EHOSTDOWN
            | Errno::EMSGSIZE
            | Errno::EACCES
            // A redirect or a source quench.
            | Errno::EREMOTEIO
    )
}

impl ProbePath for PathBySocket {
    fn send(&mut self, log: &mut Log, first: u32, end: u32) -> Result<u32, Failure> {
        for place in first..end {
            self.fill((place - first) as usize, log.header(place));
        }
        let now = Monotonic::now();
        for place in first..end {
            log.note_sent(place, now);
        }
        let (mut next, mut tried, mut singly) = (first, false, self.hops > 0);
        while next < end {
            if self.hops > 0 {
                let ttl = (next % u32::from(self.hops)) as u8 + 1;
                socket::set_ttl(self.fd.as_fd(), self.to.ip(), ttl).context("set the TTL")?;
            }
            let slot = (next - first) as usize;
            // A call that took only a part does not say why it stopped. From there on send one by one.
            let last = if singly { slot + 1 } else { (end - first) as usize };
            match self.outgoing.send(self.fd.as_fd(), slot, last) {
                Ok(taken) => {
                    if let Some(programs) = &self.programs {
                        note_sent(programs, log, next, next + taken as u32);
                    }
                    next += taken as u32;
                    tried = false;
                    if slot + taken < last {
                        singly = true;
                        self.restart_ids(log, next)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    (next..end).for_each(|place| log.note_held_back(place));
                    self.restart_ids(log, next)?;
                    return Ok(next);
                }
                Err(error) if !tried && may_be_about_another(&error) => {
                    tried = true;
                    self.restart_ids(log, next)?;
                }
                Err(error) => {
                    log.note_refused(next, &error.to_string());
                    next += 1;
                    tried = false;
                    if !StampIds::counts(&error) {
                        self.restart_ids(log, next)?;
                    }
                }
            }
        }
        Ok(end)
    }

    fn receive(&mut self, log: &mut Log) -> Result<usize, Failure> {
        let taken = self.programs.as_mut().map_or(0, |programs| take_replies(programs, log));
        if taken > 0 {
            return Ok(taken);
        }
        if self.hops > 0 {
            let before = log.replied;
            self.collect(log)?;
            if log.replied > before {
                return Ok((log.replied - before) as usize);
            }
        }
        // The socket has all replies, or with programs those that arrived at another interface or found the
        // ring full.
        // Do not look for more replies than there are packets under way: the look would delay their stamp.
        let limit = (log.outstanding() as usize).max(1);
        let count = match self.incoming.receive_up_to(self.fd.as_fd(), limit) {
            Ok(count) => count,
            // The error's details are on the error queue.
            Err(error) if may_be_about_another(&error) => 0,
            Err(error) => return Err(Failure::new("receive replies", error)),
        };
        let now = Monotonic::now();
        for slot in 0..count {
            let message = self.incoming.message(slot);
            let from = message.from();
            match self.expected.recognize(log, &message, from.map(|from| from.ip())) {
                Some(Received::Reply { place }) => {
                    let control = message.control();
                    log.note_source(place, from);
                    log.note_reply(place, control.time, control.ttl, now);
                }
                Some(Received::Mismatched { place, why }) => log.note_mismatched(place, &why, from),
                Some(Received::Corrupted { place }) => log.note_corrupted(place, CORRUPTED),
                None => {}
            }
        }
        Ok(count)
    }

    fn collect(&mut self, log: &mut Log) -> Result<(), Failure> {
        loop {
            let count =
                self.errors.receive_errors(self.fd.as_fd()).context("read kernel stamps")?;
            for slot in 0..count {
                let message = self.errors.message(slot);
                let control = message.control();
                if let (Some((id, step)), Some(time)) = (control.transmit, control.time) {
                    note_stamp(log, self.ids.as_ref(), id, step, time);
                } else if let Some(error) = control.unreachable {
                    let bytes = message.bytes.to_vec();
                    self.note_unreachable(log, &bytes, error, control.time);
                }
            }
            if count < self.errors.slots() {
                return Ok(());
            }
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.programs.as_ref().map_or(self.fd.as_fd(), |programs| programs.fd())
    }

    fn by(&self) -> By {
        if self.programs.is_some() { By::Tcx } else { By::Socket }
    }

    fn warn(&self, warnings: &mut Vec<Warning>) {
        if let Some(error) = &self.unattributed {
            let message = format!("an error did not say which packet it was about: {error}");
            warnings.push(Warning::new(
                WarningKind::UnattributedError,
                message,
                "see which packets were lost",
            ));
        }
    }
}

fn note_stamp(log: &mut Log, ids: Option<&StampIds>, id: u32, step: Step, time: Realtime) {
    if let Some(place) = ids.and_then(|ids| ids.place(id, |place| log.awaits(place, step, time))) {
        log.note_transmit(place, step, time);
    }
}
