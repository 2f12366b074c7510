//! Probes by requests on TCP connections: HTTP/1.1, and the same over TLS. The packet is the request; its reply is the
//! first of the answer.
//!
//! Connections are opened without waiting, so that each packet is sent on time. Once an answer is whole its connection
//! is closed as HTTP wants it, or takes the next request (`keep_alive`).

mod pool;
mod stamps;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::clock::{Monotonic, Span};
use delaylab_os::files::poll::ReadySet;
use delaylab_os::process::open_files;
use delaylab_os::socket::connection;
use delaylab_os::socket::{local_address, receive_errors};
use delaylab_proto::{Context, Failure};
use delaylab_wire::Leg;

use crate::operations::probe::engine::{ProbePath, warn_without_stamps};
use crate::operations::probe::entry::NEVER;
use crate::operations::probe::exchange::{TlsSettings, flaw, request_text};
use crate::operations::probe::handshake::{Handshake, outcome};
use crate::operations::probe::icmp_errors::IcmpErrors;
use crate::operations::probe::log::Log;
use crate::operations::probe::next_socket::NextSocket;
use crate::operations::transport::SYN_GIVEN_UP;
use crate::protocol::measuring::{By, Probe, Protocol, Warning};
use pool::Pool;
use stamps::StreamStamps;
use stream::{State, Stream};

/// The number of connections to look at in one go, so that sending never waits for long.
const TAKE: usize = 256;
/// The bytes that are read at once, and how often from one connection.
const READ: usize = 1 << 16;
const READS: usize = 16;
/// The time that a server has to close a connection after its last answer.
const CLOSING: Span = Span::from_ns(1_000_000_000);

/// The connections of a probe.
#[derive(Debug)]
pub(super) struct PathByStreams {
    request: Probe,
    to: SocketAddr,
    text: String,
    tls: Option<TlsSettings>,
    pool: Pool,
    ready: ReadySet,
    next: NextSocket,
    errors: IcmpErrors,
    stamps: io::Result<StreamStamps>,
    buffer: Box<[u8]>,
}

/// The reason why a connection is of no more use; `None` if it has just done its work.
type Ended = Option<String>;

impl PathByStreams {
    pub(super) fn open(request: &Probe) -> Result<Self, Failure> {
        let to = request.destination()?;
        // A whole second's connections may be open at once.
        open_files::allow_most();
        // Taps need the sequence numbers, also where this end takes no stamps itself.
        let stamps = StreamStamps::open(request, to);
        let tls = (request.protocol == Protocol::Https).then(|| TlsSettings::of(request, to.ip()));
        let mut path = Self {
            request: request.clone(),
            to,
            text: request_text(request, to),
            tls: tls.transpose()?,
            pool: Pool::default(),
            ready: ReadySet::new(TAKE).context("watch connections")?,
            next: NextSocket::default(),
            errors: IcmpErrors::default(),
            stamps,
            buffer: vec![0; READ].into_boxed_slice(),
        };
        path.prepare(0);
        Ok(path)
    }

    /// Make the socket of the packet at a place, if it needs one.
    fn prepare(&mut self, place: u32) {
        if place < self.request.count && !self.pool.has_idle() {
            self.next.prepare(place, || socket(&self.request, self.to, place));
        }
    }

    /// Send the request of one packet: on a connection that waits for one, or on a new one once that is open.
    fn begin(&mut self, log: &mut Log, place: u32) {
        while let Some(mut stream) = self.pool.take_idle() {
            log.note_sent(place, Monotonic::now());
            if self.ask(log, &mut stream, place, NEVER).is_ok() {
                return self.pool.keep(stream);
            }
            // The server has just closed it.
            log.note_held_back(place);
            self.forget(stream.port);
        }
        self.connect(log, place);
    }

    fn connect(&mut self, log: &mut Log, place: u32) {
        let socket = self.next.take(place, || socket(&self.request, self.to, place));
        let sent = Monotonic::now();
        log.note_sent(place, sent);
        let begun = socket.and_then(|fd| {
            connection::start(fd.as_fd(), self.to)?;
            self.ready.add(fd.as_fd(), place)?;
            Ok((local_address(fd.as_fd())?.port(), fd))
        });
        let (port, fd) = match begun {
            Ok(begun) => begun,
            Err(error) => return log.note_refused(place, &error.to_string()),
        };
        if let Ok(stamps) = &mut self.stamps {
            stamps.expect(port);
        }
        log.exchanges[place as usize].port = port;
        self.pool.keep(Stream::begun(fd, port, place, sent + SYN_GIVEN_UP));
    }

    /// Handle a connection that is open, has data, or has ended; `now` is the time at which that was seen.
    fn handle(&mut self, log: &mut Log, id: u32, now: Monotonic) {
        let Some(mut stream) = self.pool.take(id) else { return };
        let went = match stream.state {
            State::Opening => self.opened(log, &mut stream, now),
            _ => self.read(log, &mut stream, now),
        };
        let awaited = went.and_then(|()| {
            let awaited = self.ready.await_data(stream.fd.as_fd(), id);
            awaited.map_err(|error| Some(error.to_string()))
        });
        match awaited {
            Ok(()) => self.pool.keep(stream),
            Err(why) => self.drop_stream(log, &stream, why),
        }
    }

    /// Record the end of a handshake; then agree on TLS or send the request.
    fn opened(&mut self, log: &mut Log, stream: &mut Stream, now: Monotonic) -> Result<(), Ended> {
        let place = stream.opener;
        let result = connection::result(stream.fd.as_fd());
        match outcome(result, &stream.fd, &mut self.errors) {
            Handshake::Open => {}
            Handshake::Closed => {
                log.note_closed(place, now);
                return Err(None);
            }
            Handshake::Failed(why) => return Err(Some(why)),
        }
        stream.opened = now;
        let Some(settings) = &self.tls else {
            return self.ask(log, stream, place, now).map_err(Some);
        };
        stream.deadline = now + self.patience();
        stream.agree(settings.connect().map_err(Some)?).map_err(Some)
    }

    /// Send the request of a packet on a connection that was opened for it at `opened`, if it was.
    fn ask(
        &mut self,
        log: &mut Log,
        stream: &mut Stream,
        place: u32,
        opened: Monotonic,
    ) -> Result<(), String> {
        if let Ok(stamps) = &mut self.stamps {
            stamps.begin(stream.port);
        }
        let message = stream.prepare(self.text.as_bytes(), place)?;
        let asked = Monotonic::now();
        stream.deadline = asked + self.patience();
        log.note_asked(place, opened, asked);
        stream.send(&message)?;
        if let Ok(stamps) = &mut self.stamps {
            stamps.await_stamps(place);
        }
        let exchange = &mut log.exchanges[place as usize];
        exchange.port = stream.port;
        exchange.asked = self.sequence(stream.port, Leg::Request, stream.sent - 1);
        Ok(())
    }

    fn patience(&self) -> Span {
        Span::from_ns(self.request.linger_ns.max(self.request.late_ns))
    }

    fn sequence(&mut self, port: u16, leg: Leg, place: u64) -> Option<u32> {
        self.stamps.as_ref().ok()?.sequence(port, leg, place)
    }

    /// Read what has come on a connection.
    fn read(&mut self, log: &mut Log, stream: &mut Stream, now: Monotonic) -> Result<(), Ended> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut went = Ok(());
        for _ in 0..READS {
            went = match connection::receive(stream.fd.as_fd(), &mut buffer) {
                Ok(0) => self.ended(log, stream, now),
                Ok(count) => self.received(log, stream, &buffer[..count], now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => Err(Some(error.to_string())),
            };
            if went.is_err() {
                break;
            }
        }
        self.buffer = buffer;
        went
    }

    /// Handle bytes of a connection.
    fn received(
        &mut self,
        log: &mut Log,
        stream: &mut Stream,
        bytes: &[u8],
        now: Monotonic,
    ) -> Result<(), Ended> {
        let came = stream.take(bytes).map_err(Some)?;
        if came.agreed {
            let (place, opened) = (stream.opener, stream.opened);
            log.exchanges[place as usize].tls = Some(now - opened);
            return self.ask(log, stream, place, opened).map_err(Some);
        }
        let State::Asked(place) = stream.state else { return Ok(()) };
        if let Some(at) = came.first {
            log.exchanges[place as usize].first = self.sequence(stream.port, Leg::Reply, at);
            log.note_reply_begun(place, now);
        }
        if came.whole { self.whole(log, stream, place, now) } else { Ok(()) }
    }

    /// Record that an answer is whole; then keep the connection or close it.
    fn whole(
        &mut self,
        log: &mut Log,
        stream: &mut Stream,
        place: u32,
        now: Monotonic,
    ) -> Result<(), Ended> {
        let last = self.sequence(stream.port, Leg::Reply, stream.received - 1);
        let whole = now - log.entries[place as usize].requested();
        let exchange = &mut log.exchanges[place as usize];
        (exchange.last, exchange.whole) = (last, Some(whole));
        note_answer(log, stream, place);
        log.note_reply_ended(place, stream.answer.status().and_then(flaw).as_deref());
        stream.deadline = now + CLOSING;
        match (stream.answer.closes(), self.request.asked().keep_alive) {
            (false, true) => stream.state = State::Idle,
            // The end that closes first keeps the connection for a while (TIME_WAIT): it is the server, as asked.
            (true, _) => stream.state = State::Closing,
            (false, false) => {
                stream.state = State::Closing;
                stream.close();
            }
        }
        Ok(())
    }

    /// Handle that the server has closed a connection.
    fn ended(&mut self, log: &mut Log, stream: &mut Stream, now: Monotonic) -> Result<(), Ended> {
        match stream.state {
            State::Asked(place) => {
                stream.answer.end().map_err(Some)?;
                self.whole(log, stream, place, now)?;
                Err(None)
            }
            State::Agreeing => {
                Err(Some("the connection was closed before TLS was agreed on".into()))
            }
            _ => Err(None),
        }
    }

    /// End a connection; if a packet is on it and has no whole answer, record why.
    fn drop_stream(&mut self, log: &mut Log, stream: &Stream, why: Ended) {
        self.stamp(log);
        self.forget(stream.port);
        let place = match stream.state {
            State::Opening | State::Agreeing => stream.opener,
            State::Asked(place) => place,
            State::Idle | State::Closing => return,
        };
        let Some(why) = why else { return };
        note_answer(log, stream, place);
        match log.entries[place as usize].replied {
            NEVER => log.note_error(place, &why),
            _ => log.note_reply_ended(place, Some(&why)),
        }
    }

    fn forget(&mut self, port: u16) {
        if let Ok(stamps) = &mut self.stamps {
            stamps.forget(port);
        }
    }

    /// Record the stamps at the interface of requests that were sent, and of the first bytes of answers.
    fn stamp(&mut self, log: &mut Log) {
        if let Ok(stamps) = &mut self.stamps {
            stamps.stamp(log);
        }
    }

    /// Close the connections that were not opened, answered or closed in time.
    fn give_up(&mut self, log: &mut Log, now: Monotonic) {
        while let Some(mut stream) = self.pool.take_overdue(now) {
            let why = stream.overdue();
            stream.close();
            self.drop_stream(log, &stream, why.map(str::to_owned));
        }
    }
}

/// Record what is known of the answer to a packet.
fn note_answer(log: &mut Log, stream: &Stream, place: u32) {
    let exchange = &mut log.exchanges[place as usize];
    (exchange.status, exchange.bytes) = (stream.answer.status(), stream.answer.bytes());
}

/// Make the socket of the packet at a place.
fn socket(request: &Probe, to: SocketAddr, place: u32) -> io::Result<OwnedFd> {
    let to = to.ip();
    let local = request.local_of(to, request.first_seq + place);
    let fd = connection::unconnected(local)?;
    receive_errors(fd.as_fd(), to)?;
    request.set_options(fd.as_fd(), to)?;
    Ok(fd)
}

impl ProbePath for PathByStreams {
    fn send(&mut self, log: &mut Log, first: u32, end: u32) -> Result<u32, Failure> {
        for place in first..end {
            self.begin(log, place);
        }
        Ok(end)
    }

    fn receive(&mut self, log: &mut Log) -> Result<usize, Failure> {
        let count = self.ready.look().context("watch connections")?;
        if count > 0 {
            let now = Monotonic::now();
            let ready: Vec<u32> = self.ready.ready().collect();
            for id in ready {
                self.handle(log, id, now);
            }
        }
        self.stamp(log);
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
        self.pool.next_deadline()
    }

    fn is_busy(&self) -> bool {
        self.pool.is_busy()
    }

    fn by(&self) -> By {
        if self.stamps.is_ok() { By::Ring } else { By::Socket }
    }

    fn warn(&self, warnings: &mut Vec<Warning>) {
        warn_without_stamps(&self.request, self.stamps.as_ref().err(), warnings);
    }
}
