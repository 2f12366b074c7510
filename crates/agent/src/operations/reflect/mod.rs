//! `reflect`: a responder in user space: for UDP with its own stamps, for TCP and HTTP a listener.

mod accept;
mod log;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::clock::realtime_ns;
use delaylab_os::socket;
use delaylab_os::socket::batch::{ReceiveBatch, SendBatch};
use delaylab_os::stamps::{self, StampIds, Wanted};
use delaylab_proto::{Context, Failure};
use delaylab_wire::{ProbeRepr, ProbeView};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::tables::send_stamps;
use crate::protocol::measuring::{Protocol, Reflect, ReflectDone};
use crate::protocol::running::{Event, Order};
use crate::session::Session;
use log::Log;

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
    log: Log,
    reflected: u64,
}

/// Serve one request: answer every probe packet until the client stops it.
pub(super) fn serve(request: Reflect, session: &mut Session) -> Result<ReflectDone, Failure> {
    match request.protocol {
        Protocol::Udp => echo(&request, session),
        Protocol::Tcp | Protocol::Http => accept::serve(&request, local(&request), session),
        Protocol::Icmp => Err(Failure::new("reflect ICMP", "the kernel itself answers echoes")),
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
    send_stamps(session, &log::POINTS, reflector.log.stamps(request.probe))?;
    Ok(ReflectDone { reflected: reflector.reflected })
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
            incoming: ReceiveBatch::new(SLOTS, DATAGRAM, true),
            outgoing: SendBatch::new(SLOTS, DATAGRAM),
            errors: ReceiveBatch::new(2 * SLOTS, 1, false),
            ids,
            log: Log::default(),
            reflected: 0,
        })
    }

    fn run(&mut self, session: &mut Session) -> Result<(), Failure> {
        loop {
            let mut fds = [
                PollFd::new(session.input(), PollFlags::POLLIN),
                PollFd::new(self.fd.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(Failure::new("wait for packets", error)),
            }
            let ordered = fds[0].revents().is_some_and(|events| !events.is_empty());
            self.echo_all().context("reflect packets")?;
            let ends = |order: &Order| matches!(order, Order::Stop | Order::Closed);
            if ordered && session.orders()?.iter().any(ends) {
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
        let now = realtime_ns();
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
        let now = realtime_ns();
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
                    self.log.note_refused(first + next as u32);
                    next += 1;
                    !StampIds::counts(&error)
                }
            };
            if in_doubt {
                self.collect()?;
                if let Some(ids) = &mut self.ids {
                    ids.restart(self.fd.as_fd(), first + next as u32)?;
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
