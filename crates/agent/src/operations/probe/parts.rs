//! Parts of a probe's tables that the client gets while packets are still sent.

use super::live::ROOM;
use super::log::{Log, POINTS};
use crate::operations::tables::{Packet, Stamp, offer_packets, offer_stamps};
use crate::protocol::measuring::Probe;
use crate::session::Session;
use delaylab_os::clock::{Monotonic, Span};
use delaylab_proto::Failure;
use std::ops::Range;

use super::entry::NEVER;

/// The most packets of one part: the five stamps of each fit what a stream takes at once.
const PART: u32 = 32;
/// The most parts before the client's orders are looked at again: they take less than [`ROOM`].
const TURN: u32 = 4;

/// The progress of the parts. Only the rests between packets are used: a probe that has none, such as a flood,
/// gives its tables at its end.
#[derive(Debug)]
pub(super) struct Parts {
    /// The least time between two parts; `None` for a probe that gives its tables at its end.
    every: Option<Span>,
    /// The place of the first packet that no part has had.
    next: u32,
    /// The time of the last part.
    sent: Monotonic,
}

impl Parts {
    pub(super) fn new(request: &Probe) -> Self {
        Self { every: request.parts_ns.map(Span::from_ns), next: 0, sent: NEVER }
    }

    /// Return the time of the next part, if there is something for it and time before `next`; else `next`.
    pub(super) fn due(&self, log: &Log, sent: u32, now: Monotonic, next: Monotonic) -> Monotonic {
        let Some(every) = self.every else { return next };
        let due = now.max(self.sent + every);
        let waiting = self.next < sent && log.is_known(self.next, now);
        if waiting && next - due >= ROOM { due } else { next }
    }

    /// Send what is known of the first packets if there is time before `next`. A row may change after it was sent: a
    /// duplicate comes, or a reply to a packet that was taken for lost. It is then sent again at the end.
    pub(super) fn report(
        &mut self,
        log: &mut Log,
        session: &mut Session,
        sent: u32,
        now: Monotonic,
        next: Monotonic,
    ) -> Result<(), Failure> {
        let Some(every) = self.every else { return Ok(()) };
        if next - now < ROOM || now - self.sent < every {
            return Ok(());
        }
        let last = (self.next..sent).find(|place| !log.is_known(*place, now)).unwrap_or(sent);
        let mut turns = TURN;
        while turns > 0 && self.next < last {
            let places = self.next..last.min(self.next + PART);
            if !give(log, session, places.clone())? {
                // A client that reads too slowly gets the rest later.
                break;
            }
            self.next = places.end;
            turns -= 1;
        }
        if turns > 0 {
            self.sent = now;
        }
        Ok(())
    }
}

/// Send the stamps and the rows of packets as far as there is room; return true if all were sent.
fn give(log: &mut Log, session: &mut Session, places: Range<u32>) -> Result<bool, Failure> {
    let stamps: Vec<Stamp> = log.stamps(places.clone()).collect();
    if !offer_stamps(session, &POINTS, &stamps)? {
        return Ok(false);
    }
    log.note_given_stamps(places.clone());
    let rows: Vec<Packet> = log.packets(places.clone()).collect();
    if offer_packets(session, &rows)? {
        log.note_given_rows(places);
        return Ok(true);
    }
    Ok(false)
}
