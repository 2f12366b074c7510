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
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::clock::{Monotonic, Span};
use delaylab_os::socket::connection;
use delaylab_os::socket::local_address;
use delaylab_proto::Failure;
use delaylab_wire::Leg;

use crate::operations::probe::by_port::{PathByPort, Sockets, StampsAtInterface};
use crate::operations::probe::entry::NEVER;
use crate::operations::probe::exchange::{TlsSettings, flaw, request_text};
use crate::operations::probe::handshake::{Handshake, outcome};
use crate::operations::probe::log::Log;
use crate::protocol::measuring::{Probe, Protocol};
use pool::Pool;
use stamps::StreamStamps;
use stream::{State, Stream};

/// The bytes that are read at once, and how often from one connection.
const READ: usize = 1 << 16;
const READS: usize = 16;
/// The time that a server has to close a connection after its last answer.
const CLOSING: Span = Span::from_ns(1_000_000_000);

/// The connections of a probe.
#[derive(Debug)]
pub(super) struct PathByStreams {
    sockets: Sockets<StreamStamps>,
    text: String,
    tls: Option<TlsSettings>,
    pool: Pool,
    buffer: Box<[u8]>,
}

/// The reason why a connection is of no more use; `None` if it has just done its work.
type Ended = Option<String>;

impl PathByStreams {
    pub(super) fn open(request: &Probe) -> Result<Self, Failure> {
        let to = request.destination()?;
        let tls = (request.protocol == Protocol::Https).then(|| TlsSettings::of(request, to.ip()));
        Ok(Self {
            // Taps need the sequence numbers, also where this end takes no stamps itself.
            sockets: Sockets::open(request, StreamStamps::open, socket)?,
            text: request_text(request, to),
            tls: tls.transpose()?,
            pool: Pool::default(),
            buffer: vec![0; READ].into_boxed_slice(),
        })
    }

    fn connect(&mut self, log: &mut Log, place: u32) {
        let socket = self.sockets.take(place);
        let sent = Monotonic::now();
        log.note_sent(place, sent);
        let begun = socket.and_then(|fd| {
            connection::start(fd.as_fd(), self.sockets.to)?;
            self.sockets.ready.add(fd.as_fd(), place)?;
            Ok((local_address(fd.as_fd())?.port(), fd))
        });
        let (port, fd) = match begun {
            Ok(begun) => begun,
            Err(error) => return log.note_refused(place, &error.to_string()),
        };
        if let Ok(stamps) = &mut self.sockets.stamps {
            stamps.expect(port);
        }
        log.exchanges[place as usize].port = port;
        // Unlike a handshake that is timed, one whose SYN is sent again is of use: its request comes after it.
        self.pool.keep(Stream::begun(fd, port, place, sent + self.patience()));
    }

    /// Record the end of a handshake; then agree on TLS or send the request.
    fn opened(&mut self, log: &mut Log, stream: &mut Stream, now: Monotonic) -> Result<(), Ended> {
        let place = stream.opener;
        let result = connection::result(stream.fd.as_fd());
        match outcome(result, &stream.fd, &mut self.sockets.errors) {
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
        if let Ok(stamps) = &mut self.sockets.stamps {
            stamps.begin(stream.port);
        }
        let message = stream.prepare(self.text.as_bytes(), place)?;
        let asked = Monotonic::now();
        stream.deadline = asked + self.patience();
        log.note_asked(place, opened, asked);
        stream.send(&message)?;
        if let Ok(stamps) = &mut self.sockets.stamps {
            stamps.await_stamps(place);
        }
        let exchange = &mut log.exchanges[place as usize];
        exchange.port = stream.port;
        exchange.asked = self.sequence(stream.port, Leg::Request, stream.sent - 1);
        Ok(())
    }

    fn patience(&self) -> Span {
        Span::from_ns(self.sockets.request.linger_ns.max(self.sockets.request.late_ns))
    }

    fn sequence(&mut self, port: u16, leg: Leg, place: u64) -> Option<u32> {
        self.sockets.stamps.as_ref().ok()?.sequence(port, leg, place)
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
        match (stream.answer.closes(), self.sockets.request.asked().keep_alive) {
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
        if let Ok(stamps) = &mut self.sockets.stamps {
            stamps.take(log);
        }
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
        if let Ok(stamps) = &mut self.sockets.stamps {
            stamps.forget(port);
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
    connection::unconnected(request.local_of(to.ip(), request.first_seq + place))
}

impl PathByPort for PathByStreams {
    type Stamps = StreamStamps;

    fn sockets(&self) -> &Sockets<StreamStamps> {
        &self.sockets
    }

    fn sockets_mut(&mut self) -> &mut Sockets<StreamStamps> {
        &mut self.sockets
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

    /// Handle a connection that is open, has data, or has ended; `now` is the time at which that was seen.
    fn handle(&mut self, log: &mut Log, id: u32, now: Monotonic) {
        let Some(mut stream) = self.pool.take(id) else { return };
        let went = match stream.state {
            State::Opening => self.opened(log, &mut stream, now),
            _ => self.read(log, &mut stream, now),
        };
        let awaited = went.and_then(|()| {
            let awaited = self.sockets.ready.await_data(stream.fd.as_fd(), id);
            awaited.map_err(|error| Some(error.to_string()))
        });
        match awaited {
            Ok(()) => self.pool.keep(stream),
            Err(why) => self.drop_stream(log, &stream, why),
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

    fn next_deadline(&self) -> Option<Monotonic> {
        self.pool.next_deadline()
    }

    fn needs_socket(&self) -> bool {
        !self.pool.has_idle()
    }

    fn is_at_work(&self) -> bool {
        self.pool.is_busy()
    }
}
