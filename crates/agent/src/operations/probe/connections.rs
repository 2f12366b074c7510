//! Probes by handshakes of TCP: the packet is a connection's SYN, its reply the SYN with ACK or the reset of a closed
//! port.
//!
//! Connections are opened without waiting, so that each is begun on time, and closed by a reset as soon as the reply
//! has come.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::clock::Monotonic;
use delaylab_os::socket::{connection, local_address};
use delaylab_proto::Failure;

use super::by_port::{PathByPort, Sockets};
use super::handshake::{Handshake, outcome};
use super::log::Log;
use super::observer::InterfaceStamps;
use crate::operations::transport::SYN_GIVEN_UP;
use crate::protocol::measuring::Probe;

/// The connections of a probe.
#[derive(Debug)]
pub(super) struct PathByConnections {
    sockets: Sockets<InterfaceStamps>,
    /// The connections that are still needed, by place.
    open: HashMap<u32, Connection>,
    /// The times at which connections are given up, with their places; also of some that are no longer needed.
    deadlines: BinaryHeap<Reverse<(Monotonic, u32)>>,
}

#[derive(Debug)]
struct Connection {
    fd: OwnedFd,
    /// The time at which it is given up.
    deadline: Monotonic,
}

impl PathByConnections {
    pub(super) fn open(request: &Probe) -> Result<Self, Failure> {
        Ok(Self {
            sockets: Sockets::open(request, InterfaceStamps::if_wanted, socket)?,
            open: HashMap::with_capacity(1024),
            deadlines: BinaryHeap::with_capacity(1024),
        })
    }

    fn keep(&mut self, place: u32, fd: OwnedFd, deadline: Monotonic) {
        self.open.insert(place, Connection { fd, deadline });
        self.deadlines.push(Reverse((deadline, place)));
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
    let fd = connection::unconnected(request.local_of(to.ip(), request.first_seq + place))?;
    connection::end_by_reset(fd.as_fd())?;
    Ok(fd)
}

impl PathByPort for PathByConnections {
    type Stamps = InterfaceStamps;

    fn sockets(&self) -> &Sockets<InterfaceStamps> {
        &self.sockets
    }

    fn sockets_mut(&mut self) -> &mut Sockets<InterfaceStamps> {
        &mut self.sockets
    }

    fn begin(&mut self, log: &mut Log, place: u32) {
        let socket = self.sockets.take(place);
        let sent = Monotonic::now();
        log.note_sent(place, sent);
        let begun = socket.and_then(|fd| {
            connection::start(fd.as_fd(), self.sockets.to)?;
            let port = local_address(fd.as_fd())?.port();
            self.sockets.ready.add(fd.as_fd(), place)?;
            Ok((fd, port))
        });
        match begun {
            Ok((fd, port)) => {
                if let Ok(stamps) = &mut self.sockets.stamps {
                    stamps.expect(port, place);
                }
                self.keep(place, fd, sent + SYN_GIVEN_UP);
            }
            Err(error) => log.note_refused(place, &error.to_string()),
        }
    }

    /// Record the end of a handshake, and close the connection.
    fn handle(&mut self, log: &mut Log, place: u32, now: Monotonic) {
        let Some(Connection { fd, .. }) = self.open.remove(&place) else { return };
        match outcome(opening_error(&fd), &fd, &mut self.sockets.errors) {
            // Nobody can tell which of both was answered.
            Handshake::Open
                if connection::retransmissions(fd.as_fd()).is_ok_and(|count| count > 0) =>
            {
                log.note_error(place, "the SYN was sent again");
            }
            Handshake::Open => log.note_reply(place, None, None, now),
            Handshake::Closed => log.note_closed(place, now),
            Handshake::Failed(why) => log.note_error(place, &why),
        }
    }

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

    fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.peek().map(|Reverse((deadline, _))| *deadline)
    }
}
