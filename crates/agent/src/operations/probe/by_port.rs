//! Probes whose packets have no probe header: each packet, or each connection, has a source port by which it is known.
//! Its stamps are taken at the interface.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::clock::Monotonic;
use delaylab_os::files::poll::ReadySet;
use delaylab_os::process::open_files;
use delaylab_os::socket::receive_errors;
use delaylab_proto::{Context, Failure};

use super::engine::ProbePath;
use super::icmp_errors::IcmpErrors;
use super::log::Log;
use crate::protocol::measuring::{By, Probe, Warning, WarningKind};

/// The number of sockets to look at in one go, so that sending never waits for long.
const TAKE: usize = 256;

/// A function that makes the socket of the packet at a place.
type MakeSocket = fn(&Probe, SocketAddr, u32) -> io::Result<OwnedFd>;

/// The stamps at the interface of a probe's packets.
pub(super) trait StampsAtInterface {
    /// Record the stamps of the packets that have passed. The ring has a packet before its socket does.
    fn take(&mut self, log: &mut Log);
    /// Fail with `ENETDOWN` if the interface has gone away.
    fn check(&self) -> io::Result<()>;
}

/// The sockets of a probe by port: those that are watched, and the next one.
#[derive(Debug)]
pub(super) struct Sockets<Stamps> {
    pub request: Probe,
    pub to: SocketAddr,
    pub ready: ReadySet,
    pub errors: IcmpErrors,
    pub stamps: io::Result<Stamps>,
    make: MakeSocket,
    /// The socket of the next packet, made while there is time, with its place.
    next: Option<(u32, io::Result<OwnedFd>)>,
}

impl<Stamps> Sockets<Stamps> {
    /// Prepare to send a probe's packets.
    pub(super) fn open(
        request: &Probe,
        stamps: fn(&Probe, SocketAddr) -> io::Result<Stamps>,
        make: MakeSocket,
    ) -> Result<Self, Failure> {
        let to = request.destination()?;
        // A whole second's sockets may be open at once.
        open_files::allow_most();
        let mut sockets = Self {
            request: request.clone(),
            to,
            ready: ReadySet::new(TAKE).context("watch sockets")?,
            errors: IcmpErrors::default(),
            stamps: stamps(request, to),
            make,
            next: None,
        };
        sockets.prepare(0);
        Ok(sockets)
    }

    /// Make the socket of the packet at a place, if there is one and that is not done yet.
    fn prepare(&mut self, place: u32) {
        let done = self.next.as_ref().is_some_and(|(at, _)| *at == place);
        if place < self.request.count && !done {
            self.next = Some((place, self.made(place)));
        }
    }

    /// Take the socket of the packet at a place.
    pub(super) fn take(&mut self, place: u32) -> io::Result<OwnedFd> {
        let next = self.next.take_if(|(at, _)| *at == place);
        next.map_or_else(|| self.made(place), |(_, socket)| socket)
    }

    fn made(&self, place: u32) -> io::Result<OwnedFd> {
        let fd = (self.make)(&self.request, self.to, place)?;
        receive_errors(fd.as_fd(), self.to.ip())?;
        self.request.set_options(fd.as_fd(), self.to.ip())?;
        Ok(fd)
    }
}

/// A path by port: what it sends, and what it makes of the answers.
pub(super) trait PathByPort {
    type Stamps: StampsAtInterface;

    fn sockets(&self) -> &Sockets<Self::Stamps>;
    fn sockets_mut(&mut self) -> &mut Sockets<Self::Stamps>;
    /// Send the packet at a place, or begin the connection that it needs.
    fn begin(&mut self, log: &mut Log, place: u32);
    /// Handle a socket that is ready, by the place that it was made for; `now` is the time at which that was seen.
    fn handle(&mut self, log: &mut Log, place: u32, now: Monotonic);
    /// Close the sockets whose time is over.
    fn give_up(&mut self, log: &mut Log, now: Monotonic);
    /// Return the time at which the next socket is to be given up, or an earlier one.
    fn next_deadline(&self) -> Option<Monotonic>;
    /// Return true if the next packet needs a socket of its own.
    fn needs_socket(&self) -> bool {
        true
    }
    /// Return true if it is still at work although each packet has a reply: on the rest of an answer.
    fn is_at_work(&self) -> bool {
        false
    }
}

impl<Path: PathByPort> ProbePath for Path {
    fn send(&mut self, log: &mut Log, first: u32, end: u32) -> Result<u32, Failure> {
        for place in first..end {
            self.begin(log, place);
        }
        Ok(end)
    }

    fn receive(&mut self, log: &mut Log) -> Result<usize, Failure> {
        let count = self.sockets_mut().ready.look().context("watch sockets")?;
        if count > 0 {
            let now = Monotonic::now();
            let places: Vec<u32> = self.sockets().ready.ready().collect();
            for place in places {
                self.handle(log, place, now);
            }
        }
        if let Ok(stamps) = &mut self.sockets_mut().stamps {
            stamps.take(log);
        }
        Ok(count)
    }

    fn collect(&mut self, log: &mut Log) -> Result<(), Failure> {
        self.give_up(log, Monotonic::now());
        if self.needs_socket() {
            self.sockets_mut().prepare(log.sent + log.refused);
        }
        match &self.sockets().stamps {
            Ok(stamps) => stamps.check().context("stamp packets at the interface"),
            Err(_) => Ok(()),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.sockets().ready.fd()
    }

    fn gives_up_at(&self) -> Option<Monotonic> {
        self.next_deadline()
    }

    fn is_busy(&self) -> bool {
        self.is_at_work()
    }

    fn by(&self) -> By {
        if self.sockets().stamps.is_ok() { By::Ring } else { By::Socket }
    }

    fn warn(&self, warnings: &mut Vec<Warning>) {
        let sockets = self.sockets();
        let Some(error) = sockets.stamps.as_ref().err() else { return };
        if sockets.request.wanted().stack {
            warnings.push(Warning::new(
                WarningKind::NoKernelStamps,
                format!("no stamps of the kernel were taken: {error}"),
                "a probe by TCP, HTTP, DNS or one's own datagrams has them with CAP_NET_RAW: run it as root",
            ));
        }
    }
}
