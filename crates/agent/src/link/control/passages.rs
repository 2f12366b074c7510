//! Reports of how packets of probes passed the links, with the names of the links and in the clock of stamps.

use delaylab_os::clock::{EpochOffset, Realtime};
use delaylab_proto::Failure;

use crate::link::configured::DirectionConfig;
use crate::link::data::commands::{LoopAnswer, LoopCommand, LoopHandle};
use crate::link::data::passages::{Passage, Sender, Wanted};
use crate::protocol::passages::{PassageReport, WantedPacket};

/// Ask the loop for the passages of packets, one packet at a time: between them it forwards.
pub(super) fn find(
    packets: &[WantedPacket],
    forwarding: &LoopHandle,
    directions: &[DirectionConfig],
) -> Result<Vec<PassageReport>, Failure> {
    let offset = EpochOffset::read();
    let at = |ns| offset.monotonic(Realtime::from_ns(ns));
    let mut found = Vec::new();
    for &WantedPacket { probe, seq, from_ns, to_ns } in packets {
        let wanted = Wanted { probe, seq, from: at(from_ns), to: at(to_ns) };
        forwarding.command(LoopCommand::Passages(wanted))?;
        let LoopAnswer::Passages(passages) = forwarding.answer()? else {
            return Err(LoopHandle::ended());
        };
        found.extend(passages.iter().filter_map(|passage| {
            Some(report(passage, directions.get(passage.direction as usize)?, offset))
        }));
    }
    Ok(found)
}

fn report(passage: &Passage, of: &DirectionConfig, offset: EpochOffset) -> PassageReport {
    let ns = |at| offset.realtime(at).ns();
    let queue = &passage.queue;
    PassageReport {
        probe: passage.probe,
        seq: passage.seq,
        link: of.link.clone(),
        node: of.node.clone(),
        receives: of.receives,
        fate: passage.fate,
        came_ns: ns(passage.came),
        began_ns: ns(passage.began),
        left_ns: ns(passage.left),
        due_ns: ns(passage.due),
        ended_ns: ns(passage.ended),
        queue_frames: queue.frames,
        queue_bytes: queue.bytes,
        most_from: queue.most.map(|(sender, _)| text(sender)),
        most_bytes: queue.most.map_or(0, |(_, bytes)| bytes),
    }
}

fn text(sender: Sender) -> String {
    match sender {
        Sender::Ip(address) => address.to_string(),
        Sender::Mac(bytes) => bytes.map(|byte| format!("{byte:02x}")).join(":"),
    }
}
