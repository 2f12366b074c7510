//! Frames that are due: sent in batches, each with the record of how late it was.

use std::io;
use std::os::fd::BorrowedFd;

use delaylab_os::clock;
use delaylab_os::frame_batch::FrameBatch;

use super::counts::Counts;
use super::direction::Direction;
use super::pool::{Pool, Slot};

/// One frame for one interface.
struct Outgoing {
    slot: Slot,
    direction: u32,
    interface: u32,
    due_ns: i64,
    /// Whether it counts as having left: once, by however many interfaces it leaves.
    counted: bool,
}

pub struct Outbox {
    batch: FrameBatch,
    /// How many frames one system call takes.
    size: usize,
    frames: Vec<Outgoing>,
    /// Slots that are free once all frames are sent.
    done: Vec<(Slot, u32)>,
}

impl Outbox {
    /// That sends so many frames at once.
    pub fn new(batch: FrameBatch, size: usize) -> Self {
        Self { batch, size, frames: Vec::new(), done: Vec::new() }
    }

    /// A frame of a direction is to be sent by these interfaces.
    pub fn add(
        &mut self,
        slot: Slot,
        direction: u32,
        due_ns: i64,
        interfaces: impl Iterator<Item = u32>,
    ) {
        for (number, interface) in interfaces.enumerate() {
            let counted = number == 0;
            self.frames.push(Outgoing { slot, direction, interface, due_ns, counted });
        }
    }

    /// With the next [`Self::flush`] a slot has been used for the last time.
    pub fn release(&mut self, slot: Slot, direction: u32) {
        self.done.push((slot, direction));
    }

    /// Sends all; what an interface does not take is counted and does not keep others.
    pub fn flush(&mut self, socket: BorrowedFd<'_>, directions: &mut [Direction], pool: &mut Pool) {
        let ahead_ns = clock::realtime_ns() - clock::monotonic_ns();
        let mut rest = self.frames.as_slice();
        while !rest.is_empty() {
            let now = &rest[..self.size.min(rest.len())];
            let began_ns = clock::monotonic_ns();
            let frames = now.iter().map(|frame| (frame.interface, pool.frame(frame.slot)));
            let taken = match self.batch.send(socket, frames) {
                Ok(sent) => {
                    let each_ns = (clock::monotonic_ns() - began_ns) / sent.max(1) as i64;
                    for (frame, number) in now[..sent].iter().zip(0..) {
                        // On average in the middle of the kernel's work on it, the later part of
                        // which is the receiver's.
                        let sent_ns = began_ns + each_ns * number + each_ns / 2;
                        let counts = &mut directions[frame.direction as usize].counts;
                        counts.late.record(sent_ns - frame.due_ns);
                        if frame.counted {
                            counts.left.add(pool.frame(frame.slot).len(), sent_ns + ahead_ns);
                        }
                    }
                    sent
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) => {
                    refused(&mut directions[now[0].direction as usize].counts, &error);
                    1
                }
            };
            rest = &rest[taken..];
        }
        self.frames.clear();
        for (slot, direction) in self.done.drain(..) {
            pool.give(&mut directions[direction as usize].account, slot);
        }
    }
}

/// An interface did not take a frame.
fn refused(counts: &mut Counts, error: &io::Error) {
    match error.raw_os_error().map(nix::errno::Errno::from_raw) {
        Some(nix::errno::Errno::ENETDOWN | nix::errno::Errno::ENXIO) => counts.dropped.down += 1,
        Some(nix::errno::Errno::EMSGSIZE) => counts.dropped.oversize += 1,
        _ => counts.dropped.interface += 1,
    }
}
