//! Packets and bytes of streams that taps have seen, and that the client gets as tables.

use delaylab_os::ring::Captured;
use delaylab_proto::Failure;

use super::counter::PacketCounter;
use crate::operations::tables::{SegmentRow, Stamp, send_repeats, send_segments, send_stamps};
use crate::protocol::tapping::{Tap, TapFilter};
use crate::session::Session;

/// The packets seen at the points of a request.
pub(super) struct Sightings {
    /// The first sighting of each packet at each point.
    pub(super) stamps: Vec<Stamp>,
    /// The number of them that the client has.
    pub(super) given: usize,
    /// The further ones.
    repeats: Vec<Stamp>,
    /// The most of the further ones that are kept.
    most_repeats: usize,
    /// The bytes of streams, where they were seen first.
    segments: Vec<SegmentRow>,
    most_segments: usize,
}

impl Sightings {
    pub(super) fn new(request: &Tap) -> Self {
        Self {
            stamps: Vec::with_capacity(1 << 16),
            given: 0,
            repeats: Vec::new(),
            most_repeats: request.repeats as usize,
            segments: Vec::new(),
            most_segments: request.segments as usize,
        }
    }

    /// Keep what a captured frame carries, as far as there is room; count the rest.
    pub(super) fn note_frame(
        &mut self,
        frame: &Captured<'_>,
        point: u32,
        counter: &mut PacketCounter,
        filter: &TapFilter,
    ) {
        if !filter.protocol.has_streams() {
            if let Some(stamp) = counter.parse(frame, point, filter) {
                self.note(stamp, counter, filter);
            }
            return;
        }
        let (segments, most, mut unkept) = (&mut self.segments, self.most_segments, 0);
        counter.segments(frame, point, filter, |row| match segments.len() < most {
            true => segments.push(row),
            false => unkept += 1,
        });
        counter.unkept += unkept;
    }

    /// Send all that the client has not.
    pub(super) fn send(self, points: &[String], session: &mut Session) -> Result<(), Failure> {
        send_stamps(session, points, self.stamps.into_iter().skip(self.given))?;
        send_repeats(session, points, self.repeats.into_iter())?;
        send_segments(session, points, self.segments.into_iter())
    }

    /// Keep a sighting of a packet that the probe sends, as far as there is room; count the others.
    pub(super) fn note(&mut self, stamp: Stamp, counter: &mut PacketCounter, filter: &TapFilter) {
        if !filter.sends(stamp.seq) {
            counter.unsent += 1;
        } else if counter.is_new(&stamp) {
            self.stamps.push(stamp);
        } else if self.repeats.len() < self.most_repeats {
            self.repeats.push(stamp);
        } else {
            counter.unkept += 1;
        }
    }
}
