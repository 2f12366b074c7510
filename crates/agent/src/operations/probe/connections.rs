//! Probes by handshakes of TCP: the packet is a connection's SYN, its reply the SYN with ACK or the reset of a closed
//! port.
//!
//! Connections are opened without waiting, so that each is begun on time, and closed by a reset as soon as the reply
//! has come.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::clock::Monotonic;
use delaylab_os::files::poll::ReadySet;
use delaylab_os::process::open_files;
use delaylab_os::socket::{connection, local_address, receive_errors};
use delaylab_proto::{Context, Failure};

use super::engine::{ProbePath, warn_without_stamps};
use super::handshake::{Handshake, outcome};
use super::icmp_errors::IcmpErrors;
use super::log::Log;
use super::next_socket::NextSocket;
use super::observer::InterfaceStamps;
use crate::operations::transport::SYN_GIVEN_UP;
use crate::protocol::measuring::{By, Probe, Warning};

/// The number of connections to look at in one go, so that sending never waits for long.
const TAKE: usize = 256;

/// The connections of a probe.
#[derive(Debug)]
pub(super) struct PathByConnections {
    request: Probe,
    to: SocketAddr,
    /// The connections that are still needed, by place.
    open: HashMap<u32, Connection>,
    /// The times at which connections are given up, with their places; also of some that are no longer needed.
    deadlines: BinaryHeap<Reverse<(Monotonic, u32)>>,
    ready: ReadySet,
    next: NextSocket,
    errors: IcmpErrors,
    stamps: io::Result<InterfaceStamps>,
}

#[derive(Debug)]
struct Connection {
    fd: OwnedFd,
    /// The time at which it is given up.
    deadline: Monotonic,
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
            open: HashMap::with_capacity(1024),
            deadlines: BinaryHeap::with_capacity(1024),
            ready: ReadySet::new(TAKE).context("watch connections")?,
            next: NextSocket::default(),
            errors: IcmpErrors::default(),
            stamps,
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

    /// Begin the connection of one packet.
    fn connect(&mut self, log: &mut Log, place: u32) {
        let socket = self.next.take(place, || socket(&self.request, self.to, place));
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
                self.keep(place, fd, sent + SYN_GIVEN_UP);
            }
            Err(error) => log.note_refused(place, &error.to_string()),
        }
    }

    fn keep(&mut self, place: u32, fd: OwnedFd, deadline: Monotonic) {
        self.open.insert(place, Connection { fd, deadline });
        self.deadlines.push(Reverse((deadline, place)));
    }

    /// Record the end of a handshake, and close the connection; `now` is the time at which that was seen.
    fn handle(&mut self, log: &mut Log, place: u32, now: Monotonic) {
        let Some(Connection { fd, .. }) = self.open.remove(&place) else { return };
        match outcome(opening_error(&fd), &fd, &mut self.errors) {
            Handshake::Open => log.note_reply(place, None, None, now),
            Handshake::Closed => log.note_closed(place, now),
            Handshake::Failed(why) => log.note_error(place, &why),
        }
    }

    /// Close the connections that were not answered in time.
    fn give_up(&mut self, log: &mut Log, now: Monotonic) {
        while let Some(Reverse((deadline, place))) = self.deadlines.peek().copied() {
            let needed = self.open.get(&place).filter(|open| open.deadline == deadline);
            if needed.is_some() && deadline > now {
                return;
            }
            if needed.is_some() {
                self.open.remove(&place);
                log.note_error(place, "no answer for 0.9 s");
            }
            self.deadlines.pop();
        }
    }
}

/// Fail with the reason why a connection did not open. A handshake is over even if the responder has reset the
/// connection since.
fn opening_error(fd: &OwnedFd) -> io::Result<()> {
    match connection::result(fd.as_fd()) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(()),
        other => other,
    }
}

/// Make the socket of the packet at a place.
fn socket(request: &Probe, to: SocketAddr, place: u32) -> io::Result<OwnedFd> {
    let to = to.ip();
    let fd = connection::unconnected(request.local_of(to, request.first_seq + place))?;
    connection::end_by_reset(fd.as_fd())?;
    receive_errors(fd.as_fd(), to)?;
    request.set_options(fd.as_fd(), to)?;
    Ok(fd)
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
        warn_without_stamps(&self.request, self.stamps.as_ref().err(), warnings);
    }
}
