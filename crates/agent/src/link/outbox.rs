//! Frames that are due: sent by their ports, each with the record of how late it was.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::frame_batch::{self, FrameBatch};
use delaylab_os::{clock, ring};
use nix::errno::Errno;

use super::counts::Counts;
use super::direction::Direction;
use super::pool::{Pool, Slot};

/// What may wait in one interface's own queue, in bytes: with less, the kernel may refuse what that has
/// room for.
const QUEUE: i32 = 16 << 20;

/// One frame for one port.
struct Outgoing {
    slot: Slot,
    direction: u32,
    port: u32,
    due_ns: i64,
    /// Whether it counts as having left: once, by however many ports it leaves.
    counted: bool,
}

/// All ports. Each has a socket of its own: to one of all ports each call would have to name the interface,
/// and the kernel to look for it; and a queue that stands still would take the room of all.
pub struct Outbox {
    /// By number.
    ports: Vec<OwnedFd>,
    batch: FrameBatch,
    /// How many frames one system call takes.
    size: usize,
    frames: Vec<Outgoing>,
    /// Slots that are free once all frames are sent.
    done: Vec<(Slot, u32)>,
}

impl Outbox {
    /// For ports that are the interfaces with these indices; sends so many frames in one system call.
    pub fn open(interfaces: &[u32], size: usize) -> io::Result<Self> {
        let ports =
            interfaces.iter().map(|&interface| open(interface)).collect::<io::Result<_>>()?;
        let batch = FrameBatch::new(size);
        Ok(Self { ports, batch, size, frames: Vec::new(), done: Vec::new() })
    }

    /// A frame of a direction is to be sent by these ports.
    pub fn add(
        &mut self,
        slot: Slot,
        direction: u32,
        due_ns: i64,
        ports: impl Iterator<Item = u32>,
    ) {
        for (nth, port) in ports.enumerate() {
            self.frames.push(Outgoing { slot, direction, port, due_ns, counted: nth == 0 });
        }
    }

    /// With the next [`Self::flush`] a slot has been used for the last time.
    pub fn release(&mut self, slot: Slot, direction: u32) {
        self.done.push((slot, direction));
    }

    /// Sends all, in order; what a port does not take is counted and does not keep others. The clock of the
    /// epoch is so far ahead.
    pub fn flush(&mut self, ahead_ns: i64, directions: &mut [Direction], pool: &mut Pool) {
        let mut began_ns = clock::monotonic_ns();
        for run in self.frames.chunk_by(|one, next| one.port == next.port) {
            let socket = self.ports[run[0].port as usize].as_fd();
            let mut rest = run;
            while !rest.is_empty() {
                let some = &rest[..self.size.min(rest.len())];
                let frames = some.iter().map(|frame| (None, pool.frame(frame.slot)));
                let sent = self.batch.send(socket, frames);
                let ended_ns = clock::monotonic_ns();
                let taken = match sent {
                    Ok(sent) => {
                        let when = When { began_ns, ended_ns, ahead_ns };
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
                began_ns = ended_ns;
            }
        }
        self.frames.clear();
        for (slot, direction) in self.done.drain(..) {
            pool.give(&mut directions[direction as usize].account, slot);
        }
    }
}

/// When one system call sent some frames.
struct When {
    began_ns: i64,
    ended_ns: i64,
    /// How far the clock of the epoch is ahead.
    ahead_ns: i64,
}

impl When {
    fn note(&self, sent: &[Outgoing], directions: &mut [Direction], pool: &Pool) {
        let each_ns = (self.ended_ns - self.began_ns) / sent.len().max(1) as i64;
        for (frame, number) in sent.iter().zip(0..) {
            // On average in the middle of the kernel's work on it, the later part of which is the
            // receiver's.
            let sent_ns = self.began_ns + each_ns * number + each_ns / 2;
            let counts = &mut directions[frame.direction as usize].counts;
            counts.late.record(sent_ns - frame.due_ns);
            if frame.counted {
                counts.left.add(pool.frame(frame.slot).len(), sent_ns + self.ahead_ns);
            }
        }
    }
}

fn open(interface: u32) -> io::Result<OwnedFd> {
    let socket = ring::packet_socket()?;
    ring::bind(socket.as_fd(), interface, 0)?;
    let _ = frame_batch::widen(socket.as_fd(), QUEUE);
    Ok(socket)
}

/// An interface did not take a frame.
fn refused(counts: &mut Counts, error: &io::Error) {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENETDOWN | Errno::ENXIO) => counts.dropped.down += 1,
        Some(Errno::EMSGSIZE) => counts.dropped.oversize += 1,
        _ => counts.dropped.interface += 1,
    }
}
