//! The packets seen on one interface.

use super::seen::Seen;
use crate::operations::tables::Stamp;
use delaylab_os::ring::Captured;
use delaylab_wire::{NotAProbe, parse};

/// The packet counters of one interface.
#[derive(Debug, Default)]
pub struct Counts {
    seen: Seen,
    /// Packets that were stamped.
    pub packets: u64,
    /// Packets that are damaged, fragments or cut.
    pub unparsed: u64,
    /// Packets that were stamped before.
    pub repeated: u64,
}

impl Counts {
    /// Return the stamp of a captured frame, if it is a probe packet and its leg is known.
    pub fn parse(&mut self, frame: &Captured<'_>, point: u32, port: u16) -> Option<Stamp> {
        let sighting = match parse(frame.data) {
            Ok(sighting) => sighting,
            // The kernel's filter accepts some packets that are not a probe's.
            Err(NotAProbe::Other) => return None,
            Err(_) => {
                self.unparsed += 1;
                return None;
            }
        };
        let leg = sighting.leg(port)?;
        let (probe, seq) = (sighting.probe.probe, sighting.probe.seq);
        Some(Stamp { probe, seq, leg, point, time_ns: frame.time_ns })
    }

    /// Count a stamp; return true if it is the packet's first here.
    pub fn is_new(&mut self, stamp: &Stamp) -> bool {
        let new = self.seen.insert(stamp.probe, stamp.leg, stamp.seq);
        *(if new { &mut self.packets } else { &mut self.repeated }) += 1;
        new
    }
}
