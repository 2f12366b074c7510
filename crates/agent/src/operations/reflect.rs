//! `reflect`: a responder in user space: for UDP with its own stamps, for TCP and HTTP a listener.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::clock::Realtime;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::socket::batch::{ReceiveBatch, SendBatch};
use delaylab_os::socket::{self, connection, local_address};
use delaylab_os::stamps::{self, StampIds, Wanted};
use delaylab_proto::{Context, Failure};
use delaylab_wire::{ProbeRepr, ProbeView};

use super::reply_log::{POINTS, ReplyLog};
use super::tables::send_stamps;
use crate::protocol::measuring::{Protocol, Reflect, ReflectDone};
use crate::protocol::running::Event;
use crate::session::Session;

const SLOTS: usize = 64;
/// The most batches of packets that are echoed before orders are read.
const BATCHES: usize = 16;
/// The largest UDP datagram.
const DATAGRAM: usize = 65535;

struct Reflector {
    fd: OwnedFd,
    incoming: ReceiveBatch,
    outgoing: SendBatch,
    errors: ReceiveBatch,
    ids: Option<StampIds>,
    log: ReplyLog,
    reflected: u64,
}

/// Serve one request: answer every probe packet until the client stops it.
pub(super) fn serve(request: Reflect, session: &mut Session) -> Result<ReflectDone, Failure> {
    match request.protocol {
        Protocol::Udp => echo(&request, session),
        Protocol::Tcp | Protocol::Http => serve_connections(&request, local(&request), session),
        Protocol::Icmp => Err(Failure::new("reflect ICMP", "the kernel itself answers echoes")),
        Protocol::Https | Protocol::Dns | Protocol::Datagram => Err(Failure::new(
            "reflect",
            "a probe by HTTPS, DNS or one's own datagrams is answered by a service",
        )),
    }
}

/// Return the address to receive at.
fn local(request: &Reflect) -> io::Result<SocketAddr> {
    let any: IpAddr = match request.ip {
        4 => Ipv4Addr::UNSPECIFIED.into(),
        6 => Ipv6Addr::UNSPECIFIED.into(),
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "ip must be 4 or 6")),
    };
    Ok((any, request.port).into())
}

fn echo(request: &Reflect, session: &mut Session) -> Result<ReflectDone, Failure> {
    let mut reflector =
        Reflector::open(request).with_context(|| format!("reflect UDP port {}", request.port))?;
    let port =
        socket::local_address(reflector.fd.as_fd()).context("name the reflector's port")?.port();
    session.event(&Event::listening(port))?;
    reflector.run(session)?;
    send_stamps(session, &POINTS, reflector.log.stamps())?;
    Ok(ReflectDone { reflected: reflector.reflected, unsent: reflector.log.unsent })
}

impl Reflector {
    fn open(request: &Reflect) -> io::Result<Self> {
        let local = local(request)?;
        let fd = socket::udp(local)?;
        socket::set_buffers(fd.as_fd(), socket::LARGE_BUFFER)?;
        socket::receive_local_address(fd.as_fd(), local.ip())?;
        let ids = if request.stamps {
            let ids = StampIds::start(fd.as_fd(), Wanted { qdisc: true, stack: true }, 0)?;
            stamps::settle()?;
            Some(ids)
        } else {
            None
        };
        Ok(Self {
            fd,
            incoming: ReceiveBatch::with_sources(SLOTS, DATAGRAM),
            outgoing: SendBatch::new(SLOTS, DATAGRAM),
            errors: ReceiveBatch::without_sources(2 * SLOTS, 1),
            ids,
            log: ReplyLog::new(request.probe, request.packets),
            reflected: 0,
        })
    }

    fn run(&mut self, session: &mut Session) -> Result<(), Failure> {
        loop {
            let on = [session.input(), self.fd.as_fd()];
            let [ordered, _] = poll::wait_exactly(on, None).context("wait for packets")?;
            self.echo_all().context("reflect packets")?;
            if ordered && session.must_end()? {
                return Ok(());
            }
        }
    }

    /// Echo pending packets, and collect the stamps of sent replies. Return after some batches even if packets
    /// keep coming, so that orders are read.
    fn echo_all(&mut self) -> io::Result<()> {
        for _ in 0..BATCHES {
            let received = match self.incoming.receive(self.fd.as_fd()) {
                // An ICMP error about an earlier reply, which nobody waits for any more.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => 0,
                other => other?,
            };
            let first = self.log.end();
            let filled = self.fill(received);
            self.send(first, filled)?;
            self.collect()?;
            if received < SLOTS {
                break;
            }
        }
        Ok(())
    }

    /// Put the replies to the received probe packets into slots, and record them.
    fn fill(&mut self, received: usize) -> usize {
        let now = Realtime::now().ns();
        let mut filled = 0;
        for slot in 0..received {
            let message = self.incoming.message(slot);
            let (Ok(probe), Some(from)) = (ProbeView::new(message.bytes), message.from()) else {
                continue;
            };
            let control = message.control();
            self.outgoing.fill(filled, message.bytes, from, control.local);
            if self.ids.is_some() {
                self.log.note_request(ProbeRepr::parse(&probe), control.time, now);
            }
            filled += 1;
        }
        filled
    }

    /// Send the filled slots, whose packets are recorded from `first` on. A reply that the kernel refuses is
    /// lost: the sender will miss it.
    fn send(&mut self, first: u32, filled: usize) -> io::Result<()> {
        let now = Realtime::now().ns();
        self.log.note_replies(first, now);
        let (mut next, mut singly) = (0, false);
        while next < filled {
            // A call that took only a part does not say why it stopped. From there on send one by one.
            let last = if singly { next + 1 } else { filled };
            let in_doubt = match self.outgoing.send(self.fd.as_fd(), next, last) {
                Ok(taken) => {
                    next += taken;
                    self.reflected += taken as u64;
                    singly |= next < last;
                    next < last
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
                Err(error) => {
                    self.log.note_refused(first.wrapping_add(next as u32));
                    next += 1;
                    !StampIds::counts(&error)
                }
            };
            if in_doubt {
                self.collect()?;
                if let Some(ids) = &mut self.ids {
                    ids.restart(self.fd.as_fd(), first.wrapping_add(next as u32))?;
                }
            }
        }
        Ok(())
    }

    fn collect(&mut self) -> io::Result<()> {
        let Some(ids) = &self.ids else { return Ok(()) };
        loop {
            let count = self.errors.receive_errors(self.fd.as_fd())?;
            for slot in 0..count {
                let control = self.errors.message(slot).control();
                if let (Some((id, step)), Some(time)) = (control.transmit, control.time) {
                    let log = &mut self.log;
                    if let Some(place) = ids.place(id, |place| log.awaits(place, step, time)) {
                        log.note_transmit(place, step, time);
                    }
                }
            }
            if count < self.errors.slots() {
                return Ok(());
            }
        }
    }
}

/// The connections that may wait to be accepted, more than a probe without interval opens at once. The kernel drops
/// the SYN of any more.
const BACKLOG: u16 = 256;
/// The connections that may wait for their request; of any more the oldest is closed.
const WAITING: usize = 256;
/// The bytes of a request that are read at once; a probe's request is shorter.
const REQUEST: usize = 2048;
/// The end of a request without a body (RFC 9112), and the answer to it.
const END: &[u8] = b"\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

/// Respond to a probe by TCP or HTTP until the client stops it. The kernel answers each SYN; this closes the
/// connections, or answers the request on each. Return how many were answered. There are no stamps: those of the
/// kernel's answers are a tap's.
fn serve_connections(
    request: &Reflect,
    local: io::Result<SocketAddr>,
    session: &mut Session,
) -> Result<ReflectDone, Failure> {
    let what = || format!("listen at TCP port {}", request.port);
    let listener =
        local.and_then(|local| connection::listener(local, BACKLOG)).with_context(what)?;
    let port = local_address(listener.as_fd()).with_context(what)?.port();
    session.event(&Event::listening(port))?;
    let mut responder = Responder {
        listener,
        http: request.protocol == Protocol::Http,
        waiting: VecDeque::new(),
        answered: 0,
    };
    responder.run(session)?;
    send_stamps(session, &POINTS, std::iter::empty())?;
    Ok(ReflectDone { reflected: responder.answered, unsent: 0 })
}

struct Responder {
    listener: OwnedFd,
    http: bool,
    /// The connections whose request has not come yet, oldest first.
    waiting: VecDeque<OwnedFd>,
    answered: u64,
}

impl Responder {
    fn run(&mut self, session: &mut Session) -> Result<(), Failure> {
        loop {
            let mut on =
                vec![(session.input(), Interest::Read), (self.listener.as_fd(), Interest::Read)];
            on.extend(self.waiting.iter().map(|fd| (fd.as_fd(), Interest::Read)));
            let ready = poll::wait(&on, None).context("wait for connections")?;
            self.answer(&ready[2..]);
            self.accept().context("accept a connection")?;
            if ready[0] && session.must_end()? {
                return Ok(());
            }
        }
    }

    /// Accept all pending connections, and close those of handshakes.
    fn accept(&mut self) -> io::Result<()> {
        while let Some(fd) = connection::accept(self.listener.as_fd())? {
            if !self.http {
                self.answered += 1;
                connection::reset(fd)?;
                continue;
            }
            if self.waiting.len() == WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back(fd);
        }
        Ok(())
    }

    /// Answer the requests on those of the waiting connections that are ready, and close them.
    fn answer(&mut self, ready: &[bool]) {
        let mut ready = ready.iter();
        let answered = &mut self.answered;
        self.waiting.retain(|fd| {
            if ready.next() != Some(&true) {
                return true;
            }
            let mut bytes = [0; REQUEST];
            // A connection that has failed, or has sent anything else, is closed without an answer.
            let whole = connection::receive(fd.as_fd(), &mut bytes)
                .is_ok_and(|count| bytes[..count].ends_with(END));
            *answered += u64::from(whole && connection::send_all(fd.as_fd(), ANSWER).is_ok());
            false
        });
    }
}
