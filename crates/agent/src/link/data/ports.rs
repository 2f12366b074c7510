//! Frames in and out. Received: one ring for all ports, with a share for each that no other port can take. Sent:
//! a socket for each port, and a record of how late each frame was sent.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::clock::{EpochOffset, Monotonic, Span};
use delaylab_os::netlink::interface::has_queue;
use delaylab_os::process::namespace;
use delaylab_os::ring::frames::{FrameRing, Passing};
use delaylab_os::ring::shares::RingShares;
use delaylab_os::socket::LARGE_BUFFER;
use delaylab_os::socket::filter::Program;
use delaylab_os::socket::packet_socket::{self, FrameBatch};
use delaylab_os::tcx::gate::{Gate, Passed};
use delaylab_wire::{ETHERNET_HEADER, VLAN_TAG};
use nix::errno::Errno;

use super::direction::{Counts, DirectionState, UnderWay};
use super::passages::Passages;
use super::pool::{Pool, Slot};
use super::warm_route::WarmRoute;
use crate::protocol::passages::Fate;

/// The number of frames that may arrive while the engine does not run. One port may use a fifth: 30 ms at 100
/// 000 frames a second.
const RING_FRAMES: usize = 16384;
const RING_BYTES: usize = 64 << 20;

pub(super) struct Intake {
    ring: FrameRing,
    shares: Result<RingShares, io::Error>,
    /// The ports of the frames taken together, one entry per frame.
    taken: Vec<u32>,
}

impl Intake {
    /// Start to receive whole frames of up to `longest` bytes from these interfaces.
    pub(super) fn open(interfaces: &[u32], longest: usize) -> io::Result<Self> {
        let frames = RING_FRAMES.min(RING_BYTES / longest);
        // Open the ring closed: frames that arrive before the program counts would be missing in its
        // counters.
        let ring = FrameRing::open(0, &Program::nothing(), frames, longest, false)?;
        let shares = RingShares::attach(ring.fd(), interfaces, ring.frames());
        if shares.is_err() {
            Program::interfaces(interfaces).attach(ring.fd())?;
        }
        Ok(Self { ring, shares, taken: Vec::new() })
    }

    /// Return the reason why the ring is not divided among the ports, if it is not.
    pub(super) fn why_undivided(&self) -> Option<&io::Error> {
        self.shares.as_ref().err()
    }

    /// Return a descriptor that becomes readable when a frame has arrived.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }

    /// Pass up to `limit` frames that have arrived to `take` and return their number.
    pub(super) fn drain(&mut self, limit: usize, mut take: impl FnMut(Passing<'_>)) -> usize {
        let Self { ring, shares, taken } = self;
        let count = ring.drain_whole(limit, |passing| {
            taken.push(passing.captured.interface);
            take(passing);
        });
        // Only now: their slots in the ring must be free first.
        if let Ok(shares) = shares {
            shares.give_back(taken);
        }
        taken.clear();
        count
    }

    /// Return how many frames of a port were refused so far because they exceeded its share of the ring.
    pub(super) fn refused(&self, interface: u32) -> u64 {
        self.shares.as_ref().map_or(0, |shares| shares.refused(interface))
    }

    /// Return how many frames found the ring full since the last call.
    pub(super) fn dropped(&self) -> u64 {
        u64::from(self.ring.dropped().unwrap_or(0))
    }
}

/// Return the frame's length on a cable.
pub(super) fn length(passing: &Passing) -> usize {
    passing.captured.original as usize + passing.vlan.map_or(0, |tag| tag.len())
}

/// Return true if a cable carries a frame of this length.
pub(super) fn fits(passing: &Passing, longest: usize) -> bool {
    let data = passing.captured.data;
    let tagged = passing.vlan.is_some()
        || matches!(
            data.get(ETHERNET_HEADER - 2..ETHERNET_HEADER),
            Some([0x81, 0x00] | [0x88, 0xa8])
        );
    let longest = longest + if tagged { VLAN_TAG } else { 0 };
    let whole = passing.captured.original as usize == data.len();
    whole && (ETHERNET_HEADER..=longest).contains(&length(passing))
}

/// A frame for one port.
pub(super) struct Outgoing {
    pub slot: Slot,
    pub direction: u32,
    pub port: u32,
    pub due: Monotonic,
    /// True if the frame counts as sent; a frame is counted once, however many ports it leaves by.
    pub counted: bool,
}

/// The sockets of all ports. Ports without a queue of their own share one, because the kernel waits for a
/// grace period of RCU, up to 10 ms, for each packet socket that is closed (net/packet/af_packet.c,
/// `packet_release`): with a socket for each port, a lab of 400 links took 8 s to end. A port with a queue has
/// its own socket: frames in a stalled queue would use up the send buffer of all.
pub(super) struct Outbox {
    sockets: Vec<OwnedFd>,
    /// The way out of each port, by port number.
    ports: Vec<Exit>,
    batch: FrameBatch,
    /// The maximum number of frames per system call.
    size: usize,
    /// Holds a frame that is sent early; `None` where the kernel lets no programs in.
    gate: Option<Gate>,
    /// The router to warm up with; `None` without the right to build one.
    warm_route: Option<WarmRoute>,
    frames: Vec<Outgoing>,
    /// The slots that are free once all frames are sent.
    done: Vec<(Slot, u32)>,
}

/// The index of a network namespace's loopback.
const LOOPBACK: u32 = 1;
/// A frame of a protocol that no receiver registers: IEEE 802's local experimental EtherType 1.
const UNUSED_PROTOCOL: [u8; 60] = {
    let mut frame = [0; 60];
    (frame[12], frame[13]) = (0x88, 0xb5);
    frame
};

/// The socket shared by all ports without a queue.
const SHARED: usize = 0;

/// A port's way out.
#[derive(Clone, Copy)]
struct Exit {
    /// The index of the socket.
    socket: usize,
    /// The interface that frames must name; `None` if the socket is bound to it.
    interface: Option<u32>,
}

impl Outbox {
    /// Open sockets for ports with these interface indices, for `size` frames per system call.
    pub(super) fn open(interfaces: &[u32], size: usize) -> io::Result<Self> {
        // A socket that is not bound sends by the interface that each frame names.
        let mut sockets = vec![open(0)?];
        let mut ports = Vec::new();
        for &interface in interfaces {
            ports.push(if has_queue(interface)? {
                sockets.push(open(interface)?);
                Exit { socket: sockets.len() - 1, interface: None }
            } else {
                Exit { socket: SHARED, interface: Some(interface) }
            });
        }
        let batch = FrameBatch::new(size);
        // Without these, frames only leave some microseconds later.
        // The lab's first process is in this machine's network, where the gate must not outlive the engine.
        let own_network = !namespace::is_in_network_of_init().unwrap_or(true);
        let (gate, warm_route) = (Gate::open(own_network).ok(), WarmRoute::build().ok());
        let (frames, done) = (Vec::new(), Vec::new());
        Ok(Self { sockets, ports, batch, size, gate, warm_route, frames, done })
    }

    /// Queue a direction's frame for sending by a port.
    pub(super) fn add(
        &mut self,
        slot: Slot,
        direction: u32,
        due: Monotonic,
        port: u32,
        counted: bool,
    ) {
        self.frames.push(Outgoing { slot, direction, port, due, counted });
    }

    /// Send a frame that nobody receives, by a router of the engine's own. The code and the data that the kernel needs
    /// for any frame are in the CPU's caches afterwards.
    pub(super) fn warm_up(&mut self) {
        let (interface, frame) = match &self.warm_route {
            Some(route) => (route.interface, &route.frame[..]),
            None => (LOOPBACK, &UNUSED_PROTOCOL[..]),
        };
        // If this fails, frames only leave some microseconds later.
        if let (Some(gate), Some(_)) = (&mut self.gate, &self.warm_route) {
            gate.warm_up(frame, interface);
        } else {
            let frame = std::iter::once((Some(interface), frame));
            let _ = self.batch.send(self.sockets[SHARED].as_fd(), frame);
        }
    }

    /// Send one frame now, which the kernel is to hold at a gate until it is due, and return by how much it reached the
    /// gate too early. Return `None` if it is to be sent as others are: there is no gate, its port has a queue of its
    /// own, or the port did not take it. Then the answer to a socket says why.
    pub(super) fn send_held(
        &mut self,
        frame: &Outgoing,
        offset: EpochOffset,
        directions: &mut [DirectionState],
        under_way: &mut UnderWay,
    ) -> Option<Span> {
        let UnderWay { pool, passages, .. } = under_way;
        let interface = self.ports[frame.port as usize].interface?;
        let passed = self.gate.as_mut()?.send(pool.frame(frame.slot), interface, frame.due);
        let Passed::Left { arrived, left, .. } = passed else { return None };
        let direction = &mut directions[frame.direction as usize];
        direction.counts.late.record(left - frame.due);
        direction.counts.left.add(pool.frame(frame.slot).len(), offset.realtime(left));
        passages.end(frame.slot, Fate::Sent, left);
        pool.give(&mut direction.account, frame.slot);
        Some(frame.due - arrived)
    }

    /// Mark a slot as free after the next [`Self::flush`].
    pub(super) fn release(&mut self, slot: Slot, direction: u32) {
        self.done.push((slot, direction));
    }

    /// Send all queued frames in order. A frame that a port refuses is counted and does not delay others.
    pub(super) fn flush(
        &mut self,
        offset: EpochOffset,
        directions: &mut [DirectionState],
        under_way: &mut UnderWay,
    ) {
        let UnderWay { pool, passages, .. } = under_way;
        let mut began = Monotonic::now();
        let exit = |frame: &Outgoing| self.ports[frame.port as usize];
        for run in self.frames.chunk_by(|one, next| exit(one).socket == exit(next).socket) {
            let socket = self.sockets[exit(&run[0]).socket].as_fd();
            let (mut rest, mut again) = (run, false);
            while !rest.is_empty() {
                let some = &rest[..self.size.min(rest.len())];
                let frames =
                    some.iter().map(|frame| (exit(frame).interface, pool.frame(frame.slot)));
                let sent = self.batch.send(socket, frames);
                let ended = Monotonic::now();
                let taken = match sent {
                    Ok(sent) => {
                        let when = When { began, ended, offset };
                        when.note(&some[..sent], directions, pool, passages);
                        sent
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                    // The first frame after an interface came up may get the error of its having been down.
                    Err(error)
                        if !again && error.raw_os_error() == Some(Errno::ENETDOWN as i32) =>
                    {
                        again = true;
                        began = ended;
                        continue;
                    }
                    Err(error) => {
                        refused(&mut directions[some[0].direction as usize].counts, &error);
                        1
                    }
                };
                rest = &rest[taken..];
                (began, again) = (ended, false);
            }
        }
        self.frames.clear();
        for (slot, direction) in self.done.drain(..) {
            // Only of what no port took this is not known yet.
            passages.end(slot, Fate::Interface, began);
            pool.give(&mut directions[direction as usize].account, slot);
        }
    }
}

/// The time of one system call that sent some frames.
struct When {
    began: Monotonic,
    ended: Monotonic,
    offset: EpochOffset,
}

impl When {
    fn note(
        &self,
        frames: &[Outgoing],
        directions: &mut [DirectionState],
        pool: &Pool,
        passages: &mut Passages,
    ) {
        let each = (self.ended - self.began) / frames.len().max(1) as i64;
        for (frame, number) in frames.iter().zip(0..) {
            // On average in the middle of the kernel's work on the frame; the later part of that work is the
            // receiver's.
            let sent = self.began + (each * number + each / 2);
            let counts = &mut directions[frame.direction as usize].counts;
            counts.late.record(sent - frame.due);
            passages.end(frame.slot, Fate::Sent, sent);
            if frame.counted {
                counts.left.add(pool.frame(frame.slot).len(), self.offset.realtime(sent));
            }
        }
    }
}

fn open(interface: u32) -> io::Result<OwnedFd> {
    let socket = packet_socket::open()?;
    packet_socket::bind(socket.as_fd(), interface, 0)?;
    // With a smaller buffer the kernel may refuse frames for which the interface's own queue has room.
    let _ = packet_socket::widen(socket.as_fd(), LARGE_BUFFER);
    Ok(socket)
}

/// Count a frame that an interface refused.
fn refused(counts: &mut Counts, error: &io::Error) {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENETDOWN | Errno::ENXIO) => counts.dropped.down += 1,
        Some(Errno::EMSGSIZE) => counts.dropped.oversize += 1,
        _ => counts.dropped.interface += 1,
    }
}
