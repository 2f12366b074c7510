//! The stamps of reflected packets.

use crate::operations::tables::Stamp;
use delaylab_os::clock::Realtime;
use delaylab_os::socket::control_message::Step;
use delaylab_wire::{Leg, ProbeRepr};

/// The points of a reflector.
pub(super) const POINTS: [&str; 3] = ["app", "qdisc", "stack"];

/// The times of one packet in ns since the Unix epoch; 0 if there is none.
#[derive(Clone, Copy, Debug)]
struct Entry {
    probe: u32,
    seq: u32,
    received: i64,
    read: i64,
    sent: i64,
    qdisc: i64,
    transmitted: i64,
}

/// The reflected packets in the order of their replies.
#[derive(Debug, Default)]
pub(super) struct Log(Vec<Entry>);

impl Log {
    /// Return the place of the next packet.
    pub(super) fn end(&self) -> u32 {
        self.0.len() as u32
    }

    /// Record a request: `received` is the kernel's stamp, `read` the time in user space.
    pub(super) fn note_request(&mut self, probe: ProbeRepr, received: Option<Realtime>, read: i64) {
        let (probe, seq, received) = (probe.probe, probe.seq, received.map_or(0, Realtime::ns));
        self.0.push(Entry { probe, seq, received, read, sent: 0, qdisc: 0, transmitted: 0 });
    }

    /// Record that the replies from `first` on are about to be sent.
    pub(super) fn note_replies(&mut self, first: u32, now: i64) {
        for entry in &mut self.0[first as usize..] {
            entry.sent = now;
        }
    }

    /// Record that the kernel refused a reply after all.
    pub(super) fn note_refused(&mut self, place: u32) {
        if let Some(entry) = self.0.get_mut(place as usize) {
            entry.sent = 0;
        }
    }

    /// Return true if a transmit stamp with this time can be the packet's first for this step.
    pub(super) fn awaits(&self, place: u32, step: Step, time: Realtime) -> bool {
        self.0.get(place as usize).is_some_and(|entry| {
            let stamp = match step {
                Step::Qdisc => entry.qdisc,
                Step::Stack => entry.transmitted,
            };
            stamp == 0 && entry.sent != 0 && entry.sent <= time.ns()
        })
    }

    /// Record the first transmit stamp of a reply for this step.
    pub(super) fn note_transmit(&mut self, place: u32, step: Step, time: Realtime) {
        let entry = &mut self.0[place as usize];
        match step {
            Step::Qdisc => entry.qdisc = time.ns(),
            Step::Stack => entry.transmitted = time.ns(),
        }
    }

    /// Return the rows of the table `stamps`, of one probe or (0) of all.
    pub(super) fn stamps(&self, probe: u32) -> impl Iterator<Item = Stamp> {
        let wanted = move |entry: &&Entry| probe == 0 || entry.probe == probe;
        self.0.iter().filter(wanted).flat_map(|entry| {
            let times = [
                (Leg::Request, 2, entry.received),
                (Leg::Request, 0, entry.read),
                (Leg::Reply, 0, entry.sent),
                (Leg::Reply, 1, entry.qdisc),
                (Leg::Reply, 2, entry.transmitted),
            ];
            let (probe, seq) = (entry.probe, entry.seq);
            let taken = times.into_iter().filter(|(_, _, time)| *time != 0);
            taken.map(move |(leg, point, time_ns)| Stamp { probe, seq, leg, point, time_ns })
        })
    }
}
