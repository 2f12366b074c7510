//! The limits of the request `probe`, and what follows from it.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::os::fd::BorrowedFd;

use delaylab_os::netlink::routing;
use delaylab_os::socket;
use delaylab_os::stamps::Wanted;
use delaylab_proto::Failure;
use delaylab_wire::PROBE_HEADER;

use crate::protocol::asking::Ask;
use crate::protocol::measuring::{Mode, Point, Probe, Protocol};

/// Return true for a path that fits one segment and cannot end the request's first line.
fn is_path(text: &str) -> bool {
    text.starts_with('/') && text.len() <= MAX_PATH && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Return true for the name or address of a host, which cannot end the header's line.
fn is_host(text: &str) -> bool {
    text.len() <= MAX_HOST && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The packets per system call, and the window of a probe without an interval.
const BATCH: u16 = 64;
const TIMEOUT_NS: i64 = 20_000_000;
/// The most bytes of an HTTP request's path and host: with the rest they fit one segment.
const MAX_PATH: usize = 800;
const MAX_HOST: usize = 260;
/// The largest payload behind an IPv4 and a UDP or ICMP header.
const MAX_SIZE: usize = 65535 - 20 - 8;

impl Probe {
    /// Check the limits of a request, and give it the values that it leaves to the agent.
    pub(crate) fn checked(self) -> Result<Self, Failure> {
        let mut request = self;
        let refuse = |why: String| Err(Failure::new("read the request `probe`", why));
        let sized = !request.protocol.by_port();
        if sized && !(PROBE_HEADER..=MAX_SIZE).contains(&request.size) {
            return refuse(format!("size must be {PROBE_HEADER} to {MAX_SIZE} bytes"));
        }
        let times = [request.interval_ns, request.linger_ns, request.late_ns];
        if times.into_iter().chain(request.parts_ns).any(|time| time < 0) {
            return refuse("interval_ns, linger_ns, late_ns, parts_ns must not be negative".into());
        }
        if request.timeout_ns < 0 || (request.timeout_ns > 0 && request.interval_ns > 0) {
            return refuse("timeout_ns must not be negative, and needs interval_ns 0".into());
        }
        if request.timeout_ns == 0 {
            request.timeout_ns = TIMEOUT_NS;
        }
        if request.pairs && (request.interval_ns == 0 || request.batch == 1) {
            return refuse("pairs needs interval_ns, and a batch of 2 or more".into());
        }
        if request.first_seq.checked_add(request.count).is_none() {
            return refuse("first_seq + count must fit 32 bits".into());
        }
        if request.ttl == Some(0) {
            return refuse("ttl must be 1 to 255".into());
        }
        if request.hops > 0 && (request.mode == Mode::Packet || request.ttl.is_some()) {
            return refuse("hops needs mode \"socket\", and sets the ttl itself".into());
        }
        if request.tos.is_some() && request.mode == Mode::Packet {
            return refuse("tos needs mode \"socket\"".into());
        }
        if request.protocol != Protocol::Icmp && request.port == 0 {
            return refuse("a probe by anything but ICMP needs a port".into());
        }
        if request.protocol.by_port() {
            if request.mode == Mode::Packet || request.hops > 0 {
                return refuse("a probe by TCP, HTTP, DNS or one's own datagrams has mode \"socket\" and no hops".into());
            }
            if request.ident != 0 && request.last_source_port().is_none() {
                return refuse("ident + first_seq + count must be at most 65536".into());
            }
        }
        request.check_asked()?;
        let to = request.destination()?;
        if let Err(error) = request.named_interface(to) {
            let name = request.interface.as_deref().unwrap_or_default();
            return refuse(format!("interface {name}: {error}"));
        }
        let to = to.ip();
        if request.source.is_some_and(|source| source.is_ipv4() != to.is_ipv4()) {
            return refuse("source and destination are of different IP versions".into());
        }
        request.batch = match request.batch {
            0 => BATCH,
            batch => batch.min(1024),
        };
        Ok(request)
    }

    /// Check what is asked of a service: it is there if the protocol asks one, and not otherwise.
    fn check_asked(&self) -> Result<(), Failure> {
        let refuse = |why: String| Err(Failure::new("read the request `probe`", why));
        let Some(ask) = &self.ask else {
            return match self.protocol.asks() {
                true => refuse("a probe of a service needs ask".into()),
                false => Ok(()),
            };
        };
        if !self.protocol.asks() {
            return refuse("only a probe of a service has ask".into());
        }
        if self.protocol.has_streams() && (!is_path(&ask.path) || !is_host(&ask.host)) {
            return refuse("path or host are not those of an HTTP request".into());
        }
        if ask.payload.len() > 2 * MAX_SIZE {
            return refuse(format!("payload must be {MAX_SIZE} bytes at most"));
        }
        Ok(())
    }

    /// Return what is asked of a service.
    ///
    /// # Panics
    /// Panics unless the protocol asks one; see [`Self::checked`].
    pub(super) fn asked(&self) -> &Ask {
        self.ask.as_deref().expect("the request was checked")
    }

    /// Return the destination address; the port is 0 for ICMP. The zone of an IPv6 address is the name or the index
    /// of an interface (RFC 4007, section 11.2).
    pub(crate) fn destination(&self) -> Result<SocketAddr, Failure> {
        let port = if self.protocol == Protocol::Icmp { 0 } else { self.port };
        let refuse = |why: String| Failure::new(format!("probe {}", self.to), why);
        let (address, zone) = match self.to.split_once('%') {
            Some((address, zone)) => (address, Some(zone)),
            None => (self.to.as_str(), None),
        };
        let ip: IpAddr =
            address.parse().map_err(|_| refuse("not an IPv4 or IPv6 address".into()))?;
        match (ip, zone) {
            (_, None) => Ok((ip, port).into()),
            (IpAddr::V6(ip), Some(zone)) => {
                let scope = match zone.parse() {
                    Ok(index) => index,
                    Err(_) => nix::net::if_::if_nametoindex(zone)
                        .map_err(|error| refuse(format!("interface {zone}: {}", error.desc())))?,
                };
                Ok(SocketAddrV6::new(ip, port, 0, scope).into())
            }
            (IpAddr::V4(_), Some(_)) => Err(refuse("an IPv4 address has no zone".into())),
        }
    }

    /// Give a new socket the options that every packet of the probe has: its interface, type of service, and TTL.
    pub(super) fn set_options(&self, fd: BorrowedFd<'_>, to: IpAddr) -> io::Result<()> {
        if let Some(interface) = &self.interface {
            socket::bind_to_interface(fd, interface)?;
        }
        if let Some(tos) = self.tos {
            socket::set_tos(fd, to, tos)?;
        }
        if let Some(ttl) = self.ttl {
            socket::set_ttl(fd, to, ttl)?;
        }
        Ok(())
    }

    /// Return the index of the interface that the request or the zone of the address names; `None` if neither does.
    pub(super) fn named_interface(&self, to: SocketAddr) -> io::Result<Option<u32>> {
        match (&self.interface, to) {
            (Some(name), _) => Ok(Some(nix::net::if_::if_nametoindex(name.as_str())?)),
            (None, SocketAddr::V6(to)) if to.scope_id() != 0 => Ok(Some(to.scope_id())),
            _ => Ok(None),
        }
    }

    /// Return the index of the interface by which the packets leave.
    pub(super) fn egress(&self, to: SocketAddr) -> io::Result<u32> {
        self.named_interface(to)?.map_or_else(|| routing::interface_to(to.ip()), Ok)
    }

    /// Return the source address; the port is the probe's identifier, or 0 for the system's choice.
    pub(crate) fn local(&self, to: IpAddr) -> SocketAddr {
        self.source.map_or_else(|| socket::any(to, self.ident), |from| (from, self.ident).into())
    }

    /// Return the source address of one connection of a probe by TCP or HTTP. Each has a port of its own: `ident` and
    /// the sequence number, or the system's choice if `ident` is 0.
    pub(crate) fn local_of(&self, to: IpAddr, seq: u32) -> SocketAddr {
        let mut local = self.local(to);
        if self.ident != 0 {
            local.set_port(self.ident.wrapping_add(seq as u16));
        }
        local
    }

    /// Return the source port of the last connection of a probe by TCP; `None` if there is no such port.
    fn last_source_port(&self) -> Option<u16> {
        let after = u32::from(self.ident).checked_add(self.first_seq + self.count)?;
        u16::try_from(after.saturating_sub(1)).ok()
    }

    /// Return the kernel stamps to take.
    pub(crate) fn wanted(&self) -> Wanted {
        let wants = |point| self.stamps.contains(&point);
        Wanted { qdisc: wants(Point::Qdisc), stack: wants(Point::Stack) }
    }
}
