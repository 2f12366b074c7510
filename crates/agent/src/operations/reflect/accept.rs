//! The responder of a probe by TCP or HTTP. The kernel answers each SYN; this closes the connections, or answers the
//! request on each.

use super::log::{Log, POINTS};
use crate::operations::tables::send_stamps;
use crate::protocol::measuring::{Protocol, Reflect, ReflectDone};
use crate::protocol::running::{Event, Order};
use crate::session::Session;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::socket::{connection, local_address};
use delaylab_proto::{Context, Failure};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

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

/// Accept connections and answer them until the client stops it. Return how many were answered. There are no stamps:
/// those of the kernel's answers are a tap's.
pub(super) fn serve(
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
    send_stamps(session, &POINTS, Log::default().stamps(0))?;
    Ok(ReflectDone { reflected: responder.answered })
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
            let ends = |order: &Order| matches!(order, Order::Stop | Order::Closed);
            if ready[0] && session.orders()?.iter().any(ends) {
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
