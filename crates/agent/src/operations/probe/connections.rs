//! Probes by TCP connections, each packet with one of its own. By `tcp` the packet is the connection's SYN, its reply
//! the SYN with ACK or the reset of a closed port. By `http` the packet is a request on the open connection, its
//! reply the first bytes of the answer.
//!
//! Connections are opened without waiting, so that each is begun on time, and closed by a reset as soon as the reply
//! has come.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::clock::{Monotonic, Span};
use delaylab_os::files::poll::ReadySet;
use delaylab_os::process::open_files;
use delaylab_os::socket::batch::ReceiveBatch;
use delaylab_os::socket::control_message::Unreachable;
use delaylab_os::socket::{connection, local_address, receive_errors};
use delaylab_proto::{Context, Failure};
use nix::errno::Errno;

use super::engine::ProbePath;
use super::entry::NEVER;
use super::exchange::{Answer, Progress, request_text};
use super::log::Log;
use super::observer::InterfaceStamps;
use super::socket::describe;
use crate::operations::transport::SYN_GIVEN_UP;
use crate::protocol::measuring::{By, Probe, Protocol, Warning, WarningKind};

/// The number of connections to look at in one go, so that sending never waits for long.
const TAKE: usize = 256;
/// The bytes of an error's packet to receive; only its cause matters.
const QUOTED: usize = 64;
/// The error of a connection whose SYN was answered by a reset.
const RESET: i32 = Errno::ECONNREFUSED as i32;

/// The connections of a probe.
#[derive(Debug)]
pub(super) struct PathByConnections {
    request: Probe,
    to: SocketAddr,
    /// The HTTP request that is sent on each connection; `None` if the handshake is all.
    text: Option<String>,
    /// The connections that are still needed, by place.
    open: HashMap<u32, Connection>,
    /// The times at which connections are given up, with their places; also of some that are no longer needed.
    deadlines: BinaryHeap<Reverse<(Monotonic, u32)>>,
    ready: ReadySet,
    /// The socket of the next packet, made while there is time, with its place.
    prepared: Option<(u32, io::Result<OwnedFd>)>,
    errors: ReceiveBatch,
    stamps: io::Result<InterfaceStamps>,
}

#[derive(Debug)]
struct Connection {
    fd: OwnedFd,
    /// The time at which it is given up.
    deadline: Monotonic,
    /// The answer to the request that was sent; `None` while the connection is being opened.
    answer: Option<Answer>,
}

impl PathByConnections {
    pub(super) fn open(request: &Probe) -> Result<Self, Failure> {
        let to = request.destination()?;
        // A whole second's connections may be open at once.
        open_files::allow_most();
        let stamps = match request.wanted().stack {
            true => InterfaceStamps::open(request, to),
            false => Err(io::ErrorKind::Unsupported.into()),
        };
        let mut path = Self {
            request: request.clone(),
            to,
            text: (request.protocol == Protocol::Http).then(|| request_text(request, to)),
            open: HashMap::with_capacity(1024),
            deadlines: BinaryHeap::with_capacity(1024),
            ready: ReadySet::new(TAKE).context("watch connections")?,
            prepared: None,
            errors: ReceiveBatch::without_sources(4, QUOTED),
            stamps,
        };
        path.prepare(0);
        Ok(path)
    }

    /// Make the socket of the packet at a place, if that is not done yet.
    fn prepare(&mut self, place: u32) {
        if place < self.request.count && self.prepared.as_ref().is_none_or(|(at, _)| *at != place) {
            self.prepared = Some((place, self.socket(place)));
        }
    }

    fn socket(&self, place: u32) -> io::Result<OwnedFd> {
        let (request, to) = (&self.request, self.to.ip());
        let fd = connection::unconnected(request.local_of(to, request.first_seq + place))?;
        receive_errors(fd.as_fd(), to)?;
        request.set_options(fd.as_fd(), to)?;
        Ok(fd)
    }

    /// Begin the connection of one packet.
    fn connect(&mut self, log: &mut Log, place: u32) {
        self.prepare(place);
        let socket = self.prepared.take().map_or_else(|| self.socket(place), |(_, socket)| socket);
        let sent = Monotonic::now();
        log.note_sent(place, sent);
        let begun = socket.and_then(|fd| {
            connection::start(fd.as_fd(), self.to)?;
            let port = local_address(fd.as_fd())?.port();
            self.ready.add(fd.as_fd(), place)?;
            Ok((fd, port))
        });
        match begun {
            Ok((fd, port)) => {
                if let Ok(stamps) = &mut self.stamps {
                    stamps.expect(port, place);
                }
                self.keep(place, fd, sent + SYN_GIVEN_UP, None);
            }
            Err(error) => log.note_refused(place, &error.to_string()),
        }
    }

    fn keep(&mut self, place: u32, fd: OwnedFd, deadline: Monotonic, answer: Option<Answer>) {
        self.open.insert(place, Connection { fd, deadline, answer });
        self.deadlines.push(Reverse((deadline, place)));
    }

    /// Handle a connection that is open, has an answer, or has failed; `now` is the time at which that was seen.
    fn handle(&mut self, log: &mut Log, place: u32, now: Monotonic) {
        let Some(connection) = self.open.remove(&place) else { return };
        match connection.answer {
            None => self.opened(log, place, connection.fd, now),
            Some(answer) => {
                self.answered(log, place, connection.fd, answer, connection.deadline);
            }
        }
    }

    /// Record the end of a handshake; then send the request if there is one, else close the connection.
    fn opened(&mut self, log: &mut Log, place: u32, fd: OwnedFd, now: Monotonic) {
        match self.opening_error(&fd) {
            Ok(()) if connection::retransmissions(fd.as_fd()).is_ok_and(|count| count > 0) => {
                log.note_error(place, "the SYN was sent again");
            }
            Ok(()) if self.text.is_some() => self.ask(log, place, fd, now),
            Ok(()) => log.note_reply(place, None, None, now),
            Err(error) => match (self.unreachable(fd.as_fd()), error.raw_os_error()) {
                (Some(cause), _) => log.note_error(place, &describe(cause)),
                (None, Some(RESET)) => log.note_closed(place, now),
                (None, _) => log.note_error(place, &error.to_string()),
            },
        }
    }

    /// Fail with the reason why a connection did not open. A handshake is over even if the responder has reset the
    /// connection since; a reset in place of its answer is another error.
    fn opening_error(&self, fd: &OwnedFd) -> io::Result<()> {
        match connection::result(fd.as_fd()) {
            Err(error) if self.text.is_none() && error.kind() == io::ErrorKind::ConnectionReset => {
                Ok(())
            }
            other => other,
        }
    }

    /// Send the request on a connection that was open at `opened`.
    fn ask(&mut self, log: &mut Log, place: u32, fd: OwnedFd, opened: Monotonic) {
        let Some(text) = &self.text else { return };
        let asked = Monotonic::now();
        log.note_asked(place, opened, asked);
        let sent = connection::send_all(fd.as_fd(), text.as_bytes());
        match sent.and_then(|()| self.ready.await_data(fd.as_fd(), place)) {
            Ok(()) => {
                let patience = Span::from_ns(self.request.linger_ns.max(self.request.late_ns));
                self.keep(place, fd, asked + patience, Some(Answer::default()));
            }
            Err(error) => log.note_error(place, &error.to_string()),
        }
    }

    /// Read the answer to a request, and record the reply when its first bytes have come.
    fn answered(
        &mut self,
        log: &mut Log,
        place: u32,
        fd: OwnedFd,
        mut answer: Answer,
        deadline: Monotonic,
    ) {
        let progress = answer.read(fd.as_fd());
        let now = Monotonic::now();
        let first = log.entries[place as usize].replied == NEVER;
        if progress.is_ok() && first {
            log.note_reply(place, None, None, now);
        }
        let progress = match progress {
            Ok(Progress::Done) => {
                if let Some(flaw) = answer.flaw() {
                    log.note_flaw(place, &flaw);
                }
                return;
            }
            Ok(Progress::Begun) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err("the connection was closed without an answer".to_owned())
            }
            Err(error) => Err(error.to_string()),
        };
        let awaited = progress.and_then(|()| {
            self.ready.await_data(fd.as_fd(), place).map_err(|error| error.to_string())
        });
        match awaited {
            Ok(()) => self.keep(place, fd, deadline, Some(answer)),
            Err(why) => log.note_error(place, &why),
        }
    }

    /// Return the ICMP error that ended a handshake, if it was one.
    fn unreachable(&mut self, fd: BorrowedFd<'_>) -> Option<Unreachable> {
        let count = self.errors.receive_errors(fd).ok()?;
        (0..count).find_map(|slot| self.errors.message(slot).control().unreachable)
    }

    /// Close the connections that were not answered in time.
    fn give_up(&mut self, log: &mut Log, now: Monotonic) {
        while let Some(Reverse((deadline, place))) = self.deadlines.peek().copied() {
            let needed = self.open.get(&place).filter(|open| open.deadline == deadline);
            if needed.is_some() && deadline > now {
                return;
            }
            let asked = needed.is_some_and(|open| open.answer.is_some());
            if needed.is_some() {
                self.open.remove(&place);
                let why = if asked { "no answer to the request" } else { "no answer for 0.9 s" };
                log.note_error(place, why);
            }
            self.deadlines.pop();
        }
    }
}

impl ProbePath for PathByConnections {
    fn send(&mut self, log: &mut Log, first: u32, end: u32) -> Result<u32, Failure> {
        for place in first..end {
            self.connect(log, place);
        }
        Ok(end)
    }

    fn receive(&mut self, log: &mut Log) -> Result<usize, Failure> {
        let count = self.ready.look().context("watch connections")?;
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
        self.give_up(log, Monotonic::now());
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
        self.deadlines.peek().map(|Reverse((deadline, _))| *deadline)
    }

    fn by(&self) -> By {
        if self.stamps.is_ok() { By::Ring } else { By::Socket }
    }

    fn warn(&self, warnings: &mut Vec<Warning>) {
        match &self.stamps {
            Err(error) if self.request.wanted().stack => warnings.push(Warning::new(
                WarningKind::NoKernelStamps,
                format!("no stamps of the kernel were taken: {error}"),
                "a probe by TCP or HTTP has them with CAP_NET_RAW: run it as root",
            )),
            _ => {}
        }
    }
}
