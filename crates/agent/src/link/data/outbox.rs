//! Sending due frames by their ports, and recording how late each was sent.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::clock::{EpochOffset, Monotonic};
use delaylab_os::netlink::interface::has_queue;
use delaylab_os::socket::LARGE_BUFFER;
use delaylab_os::socket::packet_socket::{self, FrameBatch};
use nix::errno::Errno;

use super::counts::Counts;
use super::direction::DirectionState;
use super::pool::{Pool, Slot};

/// A frame for one port.
struct Outgoing {
    slot: Slot,
    direction: u32,
    port: u32,
    due: Monotonic,
    /// True if the frame counts as sent; a frame is counted once, however many ports it leaves by.
    counted: bool,
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
    frames: Vec<Outgoing>,
    /// The slots that are free once all frames are sent.
    done: Vec<(Slot, u32)>,
}

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
        Ok(Self { sockets, ports, batch, size, frames: Vec::new(), done: Vec::new() })
    }

    /// Queue a direction's frame for sending by these ports.
    pub(super) fn add(
        &mut self,
        slot: Slot,
        direction: u32,
        due: Monotonic,
        ports: impl Iterator<Item = u32>,
    ) {
        for (nth, port) in ports.enumerate() {
            self.frames.push(Outgoing { slot, direction, port, due, counted: nth == 0 });
        }
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
        pool: &mut Pool,
    ) {
        let mut began = Monotonic::now();
        let exit = |frame: &Outgoing| self.ports[frame.port as usize];
        for run in self.frames.chunk_by(|one, next| exit(one).socket == exit(next).socket) {
            let socket = self.sockets[exit(&run[0]).socket].as_fd();
            let mut rest = run;
            while !rest.is_empty() {
                let some = &rest[..self.size.min(rest.len())];
                let frames =
                    some.iter().map(|frame| (exit(frame).interface, pool.frame(frame.slot)));
                let sent = self.batch.send(socket, frames);
                let ended = Monotonic::now();
                let taken = match sent {
                    Ok(sent) => {
                        let when = When { began, ended, offset };
                        when.note(&some[..sent], directions, pool);
                        sent
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                    Err(error) => {
                        refused(&mut directions[some[0].direction as usize].counts, &error);
                        1
                    }
                };
                rest = &rest[taken..];
                began = ended;
            }
        }
        self.frames.clear();
        for (slot, direction) in self.done.drain(..) {
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
    fn note(&self, frames: &[Outgoing], directions: &mut [DirectionState], pool: &Pool) {
        let each_ns = (self.ended - self.began) / frames.len().max(1) as i64;
        for (frame, number) in frames.iter().zip(0..) {
            // On average in the middle of the kernel's work on the frame; the later part of that work is the
            // receiver's.
            let sent = self.began + (each_ns * number + each_ns / 2);
            let counts = &mut directions[frame.direction as usize].counts;
            counts.late.record(sent - frame.due);
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
