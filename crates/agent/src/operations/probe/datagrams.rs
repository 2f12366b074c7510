//! Probes by datagrams of somebody else's protocol: DNS queries, or a payload of one's own. Each is sent from a port of
//! its own, by which it is known: there is no probe header in it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::clock::{Monotonic, Span};
use delaylab_os::files::poll::ReadySet;
use delaylab_os::process::open_files;
use delaylab_os::socket::{self, connection, local_address, receive_errors};
use delaylab_proto::{Context, Failure};
use nix::errno::Errno;

use super::engine::{ProbePath, warn_without_stamps};
use super::exchange::{Verdict, Wanted, flaw_of_dns};
use super::icmp_errors::IcmpErrors;
use super::log::Log;
use super::next_socket::NextSocket;
use super::observer::InterfaceStamps;
use super::reply::OTHER_DATA;
use super::socket::describe;
use crate::protocol::measuring::{By, Probe, Warning};

/// The number of sockets to look at in one go, so that sending never waits for long.
const TAKE: usize = 256;
/// The largest UDP datagram.
const DATAGRAM: usize = 65535;

/// The sockets of a probe.
#[derive(Debug)]
pub(super) struct PathByDatagrams {
    request: Probe,
    to: SocketAddr,
    wanted: Wanted,
    /// The sockets of the packets without an answer, by place.
    open: HashMap<u32, OwnedFd>,
    /// The times at which they are given up, the next one first.
    deadlines: VecDeque<(Monotonic, u32)>,
    ready: ReadySet,
    next: NextSocket,
    errors: IcmpErrors,
    stamps: io::Result<InterfaceStamps>,
    buffer: Box<[u8]>,
}

impl PathByDatagrams {
    pub(super) fn open(request: &Probe) -> Result<Self, Failure> {
        let to = request.destination()?;
        open_files::allow_most();
        let stamps = match request.wanted().stack {
            true => InterfaceStamps::open(request, to),
            false => Err(io::ErrorKind::Unsupported.into()),
        };
        let mut path = Self {
            wanted: Wanted::of(request)?,
            request: request.clone(),
            to,
            open: HashMap::with_capacity(1024),
            deadlines: VecDeque::with_capacity(1024),
            ready: ReadySet::new(TAKE).context("watch sockets")?,
            next: NextSocket::default(),
            errors: IcmpErrors::default(),
            stamps,
            buffer: vec![0; DATAGRAM].into_boxed_slice(),
        };
        path.prepare(0);
        Ok(path)
    }

    /// Make the socket of the packet at a place, if it needs one.
    fn prepare(&mut self, place: u32) {
        if place < self.request.count {
            self.next.prepare(place, || socket(&self.request, self.to, place));
        }
    }

    /// Send one packet.
    fn ask(&mut self, log: &mut Log, place: u32) {
        let socket = self.next.take(place, || socket(&self.request, self.to, place));
        let message = self.wanted.message(identifier(log, place));
        let sent = Monotonic::now();
        log.note_sent(place, sent);
        let asked = socket.and_then(|fd| {
            connection::send_all(fd.as_fd(), &message)?;
            let port = local_address(fd.as_fd())?.port();
            self.ready.watch(fd.as_fd(), place)?;
            Ok((fd, port))
        });
        match asked {
            Ok((fd, port)) => {
                if let Ok(stamps) = &mut self.stamps {
                    stamps.expect(port, place);
                }
                log.exchanges[place as usize].port = port;
                self.open.insert(place, fd);
                self.deadlines.push_back((sent + self.patience(), place));
            }
            Err(error) => log.note_refused(place, &error.to_string()),
        }
    }

    fn patience(&self) -> Span {
        Span::from_ns(self.request.linger_ns.max(self.request.late_ns))
    }

    /// Read what has come for a packet; `now` is the time at which that was seen.
    fn handle(&mut self, log: &mut Log, place: u32, now: Monotonic) {
        let Some(fd) = self.open.get(&place).map(AsFd::as_fd) else { return };
        let outcome = connection::receive(fd, &mut self.buffer);
        let count = match outcome {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match self.errors.cause(fd) {
                    Some(cause) => return self.fail(log, place, &describe(cause)),
                    None => return,
                }
            }
            Err(error) => {
                let refused = error.raw_os_error() == Some(Errno::ECONNREFUSED as i32);
                let why = match self.errors.cause(fd) {
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

    fn fail(&mut self, log: &mut Log, place: u32, why: &str) {
        log.note_error(place, why);
        self.open.remove(&place);
    }

    /// Close the sockets of packets that nobody has answered in time.
    fn give_up(&mut self, now: Monotonic) {
        while let Some((deadline, place)) = self.deadlines.front().copied() {
            if self.open.contains_key(&place) && deadline > now {
                return;
            }
            self.open.remove(&place);
            self.deadlines.pop_front();
        }
    }
}

/// Return the identifier of a DNS query: 16 bits of the packet's nonce, which nobody else can tell.
fn identifier(log: &Log, place: u32) -> u16 {
    log.header(place).nonce as u16
}

/// Make the socket of the packet at a place.
fn socket(request: &Probe, to: SocketAddr, place: u32) -> io::Result<OwnedFd> {
    let server = to;
    let to = to.ip();
    let fd = socket::udp(request.local_of(to, request.first_seq + place))?;
    receive_errors(fd.as_fd(), to)?;
    request.set_options(fd.as_fd(), to)?;
    socket::connect_to(fd.as_fd(), server)?;
    Ok(fd)
}

impl ProbePath for PathByDatagrams {
    fn send(&mut self, log: &mut Log, first: u32, end: u32) -> Result<u32, Failure> {
        for place in first..end {
            self.ask(log, place);
        }
        Ok(end)
    }

    fn receive(&mut self, log: &mut Log) -> Result<usize, Failure> {
        let count = self.ready.look().context("watch sockets")?;
        if count > 0 {
            let now = Monotonic::now();
            let places: Vec<u32> = self.ready.ready().collect();
            for place in places {
                self.handle(log, place, now);
            }
        }
        if let Ok(stamps) = &mut self.stamps {
            stamps.take(log);
        }
        Ok(count)
    }

    fn collect(&mut self, log: &mut Log) -> Result<(), Failure> {
        self.give_up(Monotonic::now());
        self.prepare(log.sent + log.refused);
        match &self.stamps {
            Ok(stamps) => stamps.check().context("stamp packets at the interface"),
            Err(_) => Ok(()),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ready.fd()
    }

    fn gives_up_at(&self) -> Option<Monotonic> {
        self.deadlines.front().map(|(deadline, _)| *deadline)
    }

    fn by(&self) -> By {
        if self.stamps.is_ok() { By::Ring } else { By::Socket }
    }

    fn warn(&self, warnings: &mut Vec<Warning>) {
        warn_without_stamps(&self.request, self.stamps.as_ref().err(), warnings);
    }
}
