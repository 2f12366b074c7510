//! The packets seen on one interface.

use std::collections::HashMap;

use delaylab_os::ring::Captured;
use delaylab_wire::{Leg, NotAProbe, is_corrupted, parse};

use crate::operations::seen::Seen;
use crate::operations::stream_bytes::SeenBytes;
use crate::operations::tables::{SegmentRow, Stamp};
use crate::operations::transport::{SYN_GIVEN_UP, stream_segment_in};
use crate::protocol::measuring::Protocol;
use crate::protocol::tapping::TapFilter;

/// The counter of the packets of one interface, which finds their stamps.
#[derive(Debug, Default)]
pub(super) struct PacketCounter {
    seen: Seen,
    /// Packets that were stamped.
    pub packets: u64,
    /// Packets that are corrupted, fragments or cut.
    pub unparsed: u64,
    /// Packets that were stamped before.
    pub repeated: u64,
    /// Those of them that were not kept: there were too many.
    pub unkept: u64,
    /// Packets with a sequence number that the probe does not use.
    pub unsent: u64,
    /// The times of the SYNs of a probe by TCP, by sequence number, until they are answered.
    unanswered: HashMap<u32, i64>,
    /// The bytes that were seen of streams, by the sender's port and the leg.
    streams: HashMap<(u16, Leg), SeenBytes>,
}

impl PacketCounter {
    /// Return the stamp of a captured frame, if it is a packet of the probe and its leg is known.
    pub(super) fn parse(
        &mut self,
        frame: &Captured<'_>,
        point: u32,
        filter: &TapFilter,
    ) -> Option<Stamp> {
        let time_ns = frame.time.ns();
        if is_corrupted(frame.data) {
            self.unparsed += 1;
            return None;
        }
        if filter.protocol.by_port() {
            let (seq, leg) = self.by_port(frame, filter)?;
            return Some(Stamp { probe: filter.probe, seq, leg, point, time_ns });
        }
        let sighting = self.parsed(parse(frame.data))?;
        let leg = sighting.leg(filter.port)?;
        let (probe, seq) = (sighting.probe.probe, sighting.probe.seq);
        Some(Stamp { probe, seq, leg, point, time_ns })
    }

    /// Pass the bytes of a stream that a captured frame carries, and that were not seen before, to `new`.
    pub(super) fn segments(
        &mut self,
        frame: &Captured<'_>,
        point: u32,
        filter: &TapFilter,
        mut new: impl FnMut(SegmentRow),
    ) {
        if is_corrupted(frame.data) {
            self.unparsed += 1;
            return;
        }
        let parsed = self.parsed(stream_segment_in(frame.data, filter.port)).flatten();
        let Some(segment) = parsed.filter(|found| filter.sends_from(found.packet.port)) else {
            return;
        };
        let (port, leg, probe) = (segment.packet.port, segment.packet.leg, filter.probe);
        let seen = self.streams.entry((port, leg)).or_default();
        if segment.opens {
            *seen = SeenBytes::default();
        }
        if segment.run.length == 0 {
            return;
        }
        let time_ns = frame.time.ns();
        let mut any = false;
        seen.add(segment.run, |run| {
            any = true;
            new(SegmentRow { probe, port, leg, run, point, time_ns });
        });
        *(if any { &mut self.packets } else { &mut self.repeated }) += 1;
    }

    /// Return the sequence number and the leg of a packet that is known by its source port.
    fn by_port(&mut self, frame: &Captured<'_>, filter: &TapFilter) -> Option<(u32, Leg)> {
        let packet = self.parsed(filter.protocol.packet_in(frame.data, filter.port))??;
        let leg = packet.leg;
        // Another program's connection.
        if !filter.sends_from(packet.port) {
            return None;
        }
        let seq = u32::from(packet.port - filter.ident);
        match leg {
            _ if filter.protocol != Protocol::Tcp => {}
            Leg::Request => {
                self.unanswered.entry(seq).or_insert(frame.time.ns());
            }
            Leg::Reply => match self.unanswered.get(&seq) {
                // The responder's kernel has sent a lost answer again, to a sender that has given up.
                Some(asked) if frame.time.ns() - asked > SYN_GIVEN_UP.ns() => {
                    self.repeated += 1;
                    return None;
                }
                Some(_) => {
                    self.unanswered.remove(&seq);
                }
                None => {}
            },
        }
        Some((seq, leg))
    }

    /// Return what was parsed; count what is malformed. The kernel's filter accepts some packets that are not a
    /// probe's.
    fn parsed<T>(&mut self, outcome: Result<T, NotAProbe>) -> Option<T> {
        self.unparsed += u64::from(outcome.as_ref().is_err_and(|error| *error != NotAProbe::Other));
        outcome.ok()
    }

    /// Count a stamp; return true if it is the packet's first here.
    pub(super) fn is_new(&mut self, stamp: &Stamp) -> bool {
        let new = self.seen.insert(stamp.probe, stamp.leg, stamp.seq);
        *(if new { &mut self.packets } else { &mut self.repeated }) += 1;
        new
    }
}

#[cfg(test)]
mod tests {
    use delaylab_os::clock::Realtime;
    use delaylab_wire::{Sum, pseudo_header};

    use super::*;

    const PORT: u16 = 443;
    const FIRST: u16 = 10_240;
    const SYN: u8 = 0x02;
    const SYN_ACK: u8 = 0x12;
    const RST_ACK: u8 = 0x14;

    /// Build a frame with a TCP segment from one port to another, whose own checksum is left to the interface.
    fn segment(from: u16, to: u16, flags: u8) -> Vec<u8> {
        let mut frame = vec![0; 14 + 20 + 20];
        frame[12] = 0x08;
        frame[14] = 0x45;
        frame[14 + 3] = 40;
        frame[14 + 9] = 6;
        frame[34..36].copy_from_slice(&from.to_be_bytes());
        frame[36..38].copy_from_slice(&to.to_be_bytes());
        frame[34 + 12] = 5 << 4;
        frame[34 + 13] = flags;
        let unspecified = std::net::Ipv4Addr::UNSPECIFIED.into();
        let pseudo = !pseudo_header(unspecified, unspecified, 6, 20).finish();
        frame[34 + 16..34 + 18].copy_from_slice(&pseudo.to_be_bytes());
        let header = Sum::default().over(&frame[14..34]).finish();
        frame[14 + 10..14 + 12].copy_from_slice(&header.to_be_bytes());
        frame
    }

    /// Return the stamp of a segment.
    fn stamp_of(counter: &mut PacketCounter, data: &[u8], time_ns: i64) -> Option<Stamp> {
        let (original, time) = (data.len() as u32, Realtime::from_ns(time_ns));
        let frame = Captured { data, original, time, outgoing: false, interface: 1 };
        let filter = serde_json::json!(
            {"probe": 7, "protocol": "tcp", "ip": 4, "ident": FIRST, "port": PORT});
        counter.parse(&frame, 0, &serde_json::from_value(filter).unwrap())
    }

    /// Return the stamp of the segment of `seq`, as sequence number and leg.
    fn stamp(counter: &mut PacketCounter, seq: u16, flags: u8, time_ns: i64) -> Option<(u32, Leg)> {
        let request = flags == SYN;
        let (from, to) = if request { (FIRST + seq, PORT) } else { (PORT, FIRST + seq) };
        let stamp = stamp_of(counter, &segment(from, to, flags), time_ns)?;
        assert_eq!((stamp.probe, stamp.time_ns), (7, time_ns));
        Some((stamp.seq, stamp.leg))
    }

    #[test]
    fn the_source_port_gives_the_sequence_number() {
        let mut counter = PacketCounter::default();
        assert_eq!(stamp(&mut counter, 5, SYN, 10), Some((5, Leg::Request)));
        assert_eq!(stamp(&mut counter, 5, SYN_ACK, 20), Some((5, Leg::Reply)));
        assert_eq!(stamp(&mut counter, 6, SYN, 30), Some((6, Leg::Request)));
        assert_eq!(stamp(&mut counter, 6, RST_ACK, 40), Some((6, Leg::Reply)));
        assert_eq!(counter.unparsed, 0);
    }

    #[test]
    fn an_answer_that_was_sent_again_is_not_stamped() {
        let mut counter = PacketCounter::default();
        assert_eq!(stamp(&mut counter, 5, SYN, 0), Some((5, Leg::Request)));
        assert_eq!(stamp(&mut counter, 5, SYN_ACK, SYN_GIVEN_UP.ns() + 1), None);
        assert_eq!(stamp(&mut counter, 5, SYN_ACK, 3 * SYN_GIVEN_UP.ns()), None);
        assert_eq!(counter.repeated, 2);
    }

    #[test]
    fn other_segments_have_no_stamp() {
        let mut counter = PacketCounter::default();
        const ACK: u8 = 0x10;
        assert_eq!(stamp(&mut counter, 5, ACK, 0), None);
        assert_eq!(stamp_of(&mut counter, &segment(FIRST - 1, PORT, SYN), 1), None);
    }
}
