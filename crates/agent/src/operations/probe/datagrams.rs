//! Probes by datagrams of somebody else's protocol: DNS queries, or a payload of one's own. Each is sent from a port of
//! its own, by which it is known: there is no probe header in it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::clock::{Monotonic, Span};
use delaylab_os::socket::{self, connection, local_address};
use delaylab_proto::Failure;
use nix::errno::Errno;

use super::by_port::{PathByPort, Sockets};
use super::exchange::{Verdict, Wanted, flaw_of_dns};
use super::log::Log;
use super::observer::InterfaceStamps;
use super::reply::OTHER_DATA;
use super::socket::describe;
use crate::protocol::measuring::Probe;

/// The largest UDP datagram.
const DATAGRAM: usize = 65535;

/// The sockets of a probe.
#[derive(Debug)]
pub(super) struct PathByDatagrams {
    sockets: Sockets<InterfaceStamps>,
    wanted: Wanted,
    /// The sockets of the packets without an answer, by place.
    open: HashMap<u32, OwnedFd>,
    /// The times at which they are given up, the next one first.
    deadlines: VecDeque<(Monotonic, u32)>,
    buffer: Box<[u8]>,
}

impl PathByDatagrams {
    pub(super) fn open(request: &Probe) -> Result<Self, Failure> {
        Ok(Self {
            wanted: Wanted::of(request)?,
            sockets: Sockets::open(request, InterfaceStamps::if_wanted, socket)?,
            open: HashMap::with_capacity(1024),
            deadlines: VecDeque::with_capacity(1024),
            buffer: vec![0; DATAGRAM].into_boxed_slice(),
        })
    }

    fn patience(&self) -> Span {
        Span::from_ns(self.sockets.request.linger_ns.max(self.sockets.request.late_ns))
    }

    fn fail(&mut self, log: &mut Log, place: u32, why: &str) {
        log.note_error(place, why);
        self.open.remove(&place);
    }
}

/// Return the identifier of a DNS query: 16 bits of the packet's nonce, which nobody else can tell.
fn identifier(log: &Log, place: u32) -> u16 {
    log.header(place).nonce as u16
}

/// Make the socket of the packet at a place.
fn socket(request: &Probe, to: SocketAddr, place: u32) -> io::Result<OwnedFd> {
    let fd = socket::udp(request.local_of(to.ip(), request.first_seq + place))?;
    socket::connect_to(fd.as_fd(), to)?;
    Ok(fd)
}

impl PathByPort for PathByDatagrams {
    type Stamps = InterfaceStamps;

    fn sockets(&self) -> &Sockets<InterfaceStamps> {
        &self.sockets
    }

    fn sockets_mut(&mut self) -> &mut Sockets<InterfaceStamps> {
        &mut self.sockets
    }

    fn begin(&mut self, log: &mut Log, place: u32) {
        let socket = self.sockets.take(place);
        let message = self.wanted.message(identifier(log, place));
        let sent = Monotonic::now();
        log.note_sent(place, sent);
        let asked = socket.and_then(|fd| {
            connection::send_all(fd.as_fd(), &message)?;
            let port = local_address(fd.as_fd())?.port();
            self.sockets.ready.watch(fd.as_fd(), place)?;
            Ok((fd, port))
        });
        match asked {
            Ok((fd, port)) => {
                if let Ok(stamps) = &mut self.sockets.stamps {
                    stamps.expect(port, place);
                }
                log.exchanges[place as usize].port = port;
                self.open.insert(place, fd);
                self.deadlines.push_back((sent + self.patience(), place));
            }
            Err(error) => log.note_refused(place, &error.to_string()),
        }
    }

    /// Read what has come for a packet.
    fn handle(&mut self, log: &mut Log, place: u32, now: Monotonic) {
        let Some(fd) = self.open.get(&place).map(AsFd::as_fd) else { return };
        let outcome = connection::receive(fd, &mut self.buffer);
        let count = match outcome {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match self.sockets.errors.cause(fd) {
                    Some(cause) => return self.fail(log, place, &describe(cause)),
                    None => return,
                }
            }
            Err(error) => {
                let refused = error.raw_os_error() == Some(Errno::ECONNREFUSED as i32);
                let why = match self.sockets.errors.cause(fd) {
                    Some(cause) => describe(cause),
                    None if refused => "the port is closed".into(),
                    None => error.to_string(),
                };
                return self.fail(log, place, &why);
            }
        };
        match self.wanted.verdict(identifier(log, place), &self.buffer[..count]) {
            Verdict::Another => log.note_mismatched(place, OTHER_DATA, None),
            Verdict::Answer { code, cut } => {
                let exchange = &mut log.exchanges[place as usize];
                (exchange.status, exchange.bytes) = (code, count as u64);
                exchange.whole = Some(now - log.entries[place as usize].requested());
                log.note_reply_begun(place, now);
                let flaw = code.and_then(|code| flaw_of_dns(code, cut));
                log.note_reply_ended(place, flaw.as_deref());
                self.open.remove(&place);
            }
        }
    }

    fn give_up(&mut self, _log: &mut Log, now: Monotonic) {
        while let Some((deadline, place)) = self.deadlines.front().copied() {
            if self.open.contains_key(&place) && deadline > now {
                return;
            }
            self.open.remove(&place);
            self.deadlines.pop_front();
        }
    }

    fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.front().map(|(deadline, _)| *deadline)
    }
}
