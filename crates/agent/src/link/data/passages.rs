//! Passages of probes' packets through directions: when each came, began to leave, had left and was due, what became of
//! it, and the queue that it found.

use std::net::IpAddr;

use delaylab_os::clock::{Monotonic, Span};
use delaylab_wire::{EthernetView, IpView};

use super::pool::Slot;
use crate::protocol::passages::Fate;

/// The most passages that are kept, the newest ones. The memory is used as they come.
const MOST: usize = 1 << 19;
/// The most packets of probes that are followed at the same time.
const MOST_UNDER_WAY: usize = 4096;
/// The most senders whose share of a queue is known.
const MOST_SENDERS: usize = 16;
/// Passages end in the order in which they are kept, but for so much.
const OUT_OF_ORDER: Span = Span::from_ns(10_000_000);
/// The mark of a slot whose frame is not followed.
const UNMARKED: u32 = 0;

/// A sender of frames: by its IP address, or by its MAC address if a frame has no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Ip(IpAddr),
    Mac([u8; 6]),
}

impl Sender {
    /// Return the sender of a frame; `None` if it is shorter than an Ethernet header.
    fn of(frame: &[u8]) -> Option<Self> {
        let ethernet = EthernetView::new(frame).ok()?;
        Some(match IpView::in_frame(&ethernet) {
            Ok(packet) => Self::Ip(packet.from()),
            Err(_) => Self::Mac(ethernet.addresses().1),
        })
    }
}

/// The frames that waited in a direction when a packet came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueFound {
    pub frames: u64,
    pub bytes: u64,
    /// The sender of most of these bytes, and how many they are.
    pub most: Option<(Sender, u64)>,
}

/// The passage of a packet through one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    pub probe: u32,
    pub seq: u32,
    pub direction: u32,
    pub fate: Fate,
    pub came: Monotonic,
    /// The times at which it began to leave, and at which all of it had left: between them the rate held it.
    pub began: Monotonic,
    pub left: Monotonic,
    /// The time at which the link's delay was over.
    pub due: Monotonic,
    /// The time at which it was sent, or dropped.
    pub ended: Monotonic,
    pub queue: QueueFound,
}

/// A packet to look for: those that ended between two times.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub probe: u32,
    pub seq: u32,
    pub from: Monotonic,
    pub to: Monotonic,
}

/// The passages that have ended, and those of packets under way.
pub(super) struct Passages {
    /// For each slot the place of its packet in `under_way`, counted from 1.
    marks: Box<[u32]>,
    under_way: Vec<Passage>,
    unused: Vec<u32>,
    /// A ring, of which `next` is the oldest one once it is full.
    ended: Vec<Passage>,
    next: usize,
}

impl Passages {
    /// Build the state for a pool with this number of slots.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            marks: vec![UNMARKED; slots].into(),
            under_way: Vec::with_capacity(MOST_UNDER_WAY),
            unused: Vec::with_capacity(MOST_UNDER_WAY),
            // Untouched memory costs nothing.
            ended: Vec::with_capacity(MOST),
            next: 0,
        }
    }

    /// Follow a frame if it is a packet of a probe.
    pub(super) fn enter(
        &mut self,
        slot: Slot,
        frame: &[u8],
        direction: u32,
        came: Monotonic,
        queue: impl FnOnce() -> QueueFound,
    ) {
        let Ok(sighting) = delaylab_wire::parse(frame) else { return };
        let passage = Passage {
            probe: sighting.probe.probe,
            seq: sighting.probe.seq,
            direction,
            fate: Fate::Interface,
            came,
            began: came,
            left: came,
            due: came,
            ended: came,
            queue: queue(),
        };
        let place = match self.unused.pop() {
            Some(place) => {
                self.under_way[place as usize] = passage;
                place
            }
            None if self.under_way.len() < MOST_UNDER_WAY => {
                self.under_way.push(passage);
                self.under_way.len() as u32 - 1
            }
            None => return,
        };
        self.marks[slot as usize] = place + 1;
    }

    /// Note when a frame begins to leave, has left and is due.
    pub(super) fn schedule(
        &mut self,
        slot: Slot,
        began: Monotonic,
        left: Monotonic,
        due: Monotonic,
    ) {
        if let Some(place) = self.place(slot) {
            let passage = &mut self.under_way[place];
            (passage.began, passage.left, passage.due) = (began, left, due);
        }
    }

    /// Note what became of a frame, unless that is known.
    pub(super) fn end(&mut self, slot: Slot, fate: Fate, at: Monotonic) {
        let Some(place) = self.place(slot) else { return };
        self.marks[slot as usize] = UNMARKED;
        self.unused.push(place as u32);
        let ended = Passage { fate, ended: at, ..self.under_way[place] };
        if self.ended.len() < MOST {
            self.ended.push(ended);
        } else {
            self.ended[self.next] = ended;
            self.next = (self.next + 1) % MOST;
        }
    }

    /// Return the passages of a packet.
    pub(super) fn find(&self, wanted: &Wanted) -> Vec<Passage> {
        let (newer, older) = self.ended.split_at(self.next);
        let is_wanted = |passage: &&Passage| {
            (passage.probe, passage.seq) == (wanted.probe, wanted.seq)
                && (wanted.from..=wanted.to).contains(&passage.ended)
        };
        let within = |part: &[Passage]| {
            let from = part.partition_point(|each| each.ended + OUT_OF_ORDER < wanted.from);
            let to = part.partition_point(|each| each.ended <= wanted.to + OUT_OF_ORDER);
            part[from..to.max(from)].iter().filter(is_wanted).copied().collect::<Vec<_>>()
        };
        [within(older), within(newer)].concat()
    }

    fn place(&self, slot: Slot) -> Option<usize> {
        match self.marks[slot as usize] {
            UNMARKED => None,
            mark => Some(mark as usize - 1),
        }
    }
}

/// The bytes of each sender that wait in a direction.
#[derive(Default)]
pub(super) struct Waiters {
    bytes: Vec<(Sender, u64)>,
}

impl Waiters {
    /// Count a frame that comes to wait.
    pub(super) fn add(&mut self, frame: &[u8]) {
        let Some(sender) = Sender::of(frame) else { return };
        let length = frame.len() as u64;
        if let Some((_, bytes)) = self.bytes.iter_mut().find(|(known, _)| *known == sender) {
            *bytes += length;
        } else if self.bytes.len() < MOST_SENDERS {
            // Nobody has most of a queue that more senders fill.
            self.bytes.push((sender, length));
        }
    }

    /// Forget a frame that does not wait any more.
    pub(super) fn remove(&mut self, frame: &[u8]) {
        if self.bytes.is_empty() {
            return;
        }
        let Some(sender) = Sender::of(frame) else { return };
        let Some(place) = self.bytes.iter().position(|(known, _)| *known == sender) else { return };
        let (_, bytes) = &mut self.bytes[place];
        *bytes = bytes.saturating_sub(frame.len() as u64);
        if *bytes == 0 {
            self.bytes.swap_remove(place);
        }
    }

    /// Return the sender of most of the bytes, and how many they are.
    pub(super) fn most(&self) -> Option<(Sender, u64)> {
        self.bytes.iter().max_by_key(|(_, bytes)| *bytes).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use delaylab_wire::{
        ETHERNET_HEADER, EthernetRepr, IPV4_HEADER, IpRepr, PROBE_HEADER, ProbeRepr, Protocol,
        UDP_HEADER, UdpRepr, pseudo_header,
    };

    use super::*;

    fn frame(from: u8, seq: Option<u32>) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET_HEADER + IPV4_HEADER + UDP_HEADER + PROBE_HEADER];
        let (here, there) = (Ipv4Addr::new(10, 0, 0, from), Ipv4Addr::new(10, 0, 0, 2));
        let ip = IpRepr { from: here.into(), to: there.into(), protocol: Protocol::Udp, ttl: 64 };
        EthernetRepr { to: [2; 6], from: [from; 6], ether_type: ip.ether_type() }.emit(&mut frame);
        let packet = &mut frame[ETHERNET_HEADER..];
        if let Some(seq) = seq {
            let payload = &mut packet[IPV4_HEADER + UDP_HEADER..];
            ProbeRepr { probe: 7, seq, nonce: 0 }.emit(payload);
        }
        let length = UDP_HEADER + PROBE_HEADER;
        let pseudo = pseudo_header(here.into(), there.into(), Protocol::Udp as u8, length);
        let udp = UdpRepr { from_port: 1, to_port: 2 };
        udp.emit(&mut packet[IPV4_HEADER..], pseudo);
        ip.emit(packet);
        frame
    }

    fn at(us: i64) -> Monotonic {
        Monotonic::from_ns(us * 1000)
    }

    fn wanted(seq: u32, from_us: i64, to_us: i64) -> Wanted {
        Wanted { probe: 7, seq, from: at(from_us), to: at(to_us) }
    }

    #[test]
    fn a_packet_s_passage_has_its_times_its_fate_and_the_queue_that_it_found() {
        let mut passages = Passages::new(8);
        let queue = QueueFound { frames: 3, bytes: 300, most: None };
        passages.enter(5, &frame(1, Some(9)), 2, at(10), || queue);
        passages.schedule(5, at(20), at(30), at(40));
        passages.end(5, Fate::Sent, at(41));
        let expected = Passage {
            probe: 7,
            seq: 9,
            direction: 2,
            fate: Fate::Sent,
            came: at(10),
            began: at(20),
            left: at(30),
            due: at(40),
            ended: at(41),
            queue,
        };
        assert_eq!(passages.find(&wanted(9, 0, 100)), [expected]);
        assert_eq!(passages.find(&wanted(8, 0, 100)), []);
        assert_eq!(passages.find(&wanted(9, 42, 100)), []);
    }

    #[test]
    fn a_slot_that_another_frame_takes_over_is_not_that_of_the_packet_any_more() {
        let mut passages = Passages::new(8);
        passages.enter(5, &frame(1, Some(9)), 2, at(10), QueueFound::default);
        passages.end(5, Fate::Queue, at(10));
        passages.enter(5, &frame(1, None), 2, at(20), QueueFound::default);
        passages.end(5, Fate::Sent, at(30));
        let fates: Vec<_> =
            passages.find(&wanted(9, 0, 100)).iter().map(|each| each.fate).collect();
        assert_eq!(fates, [Fate::Queue]);
    }

    #[test]
    fn the_newest_passages_are_kept_and_found_across_the_ring_s_end() {
        let mut passages = Passages::new(2);
        let many = MOST as u32 + 5;
        let packet = frame(1, Some(0));
        for seq in 0..many {
            passages.enter(0, &packet, 0, at(seq.into()), QueueFound::default);
            passages.under_way[0].seq = seq;
            passages.end(0, Fate::Sent, at(seq.into()));
        }
        let found = |seq: u32| passages.find(&wanted(seq, i64::from(seq) - 5, (seq + 5).into()));
        assert_eq!([found(0).len(), found(4).len()], [0, 0]);
        for seq in [5, MOST as u32 - 1, MOST as u32, many - 1] {
            assert_eq!(found(seq).iter().map(|each| each.seq).collect::<Vec<_>>(), [seq]);
        }
    }

    #[test]
    fn a_queue_is_most_of_who_has_most_bytes_in_it() {
        let mut waiters = Waiters::default();
        for from in [1, 3, 3, 1, 3] {
            waiters.add(&frame(from, None));
        }
        let length = frame(3, None).len() as u64;
        let sender = |from| Sender::Ip(Ipv4Addr::new(10, 0, 0, from).into());
        assert_eq!(waiters.most(), Some((sender(3), 3 * length)));
        for from in [3, 3, 3, 1] {
            waiters.remove(&frame(from, None));
        }
        assert_eq!(waiters.most(), Some((sender(1), length)));
        waiters.remove(&frame(1, None));
        assert_eq!(waiters.most(), None);
        let mut arp = vec![0; 60];
        (arp[6..12]).copy_from_slice(&[9; 6]);
        waiters.add(&arp);
        assert_eq!(waiters.most(), Some((Sender::Mac([9; 6]), 60)));
    }
}
