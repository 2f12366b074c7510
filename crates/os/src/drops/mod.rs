//! Packets of probes that the kernel drops, with its reason (`bpf/drops.c`).

mod reasons;

use std::collections::VecDeque;
use std::{fmt, io};

use aya::maps::{MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader, Pod};

pub use reasons::Reasons;

use crate::bpf::{record, refused};
use crate::clock::Monotonic;

/// The compiled `bpf/drops.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/drops.o");
/// The size in bytes of the ring: room for 25 000 packets between two reads.
const RING: u32 = 1 << 20;
/// The most packets that are kept.
const MOST: usize = 100_000;

/// The layout of `struct dropped` in `bpf/drops.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Reported {
    time_ns: u64,
    reason: u32,
    probe: u32,
    seq: u32,
    namespace: u32,
    cpu: u32,
    name: [u8; 16],
}

// SAFETY: plain integers without padding.
unsafe impl Pod for Reported {}

/// A packet of a probe that the kernel dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPacket {
    /// The time at which it was dropped.
    pub time: Monotonic,
    /// The number of the reason in the running kernel ([`Reasons`]).
    pub reason: u32,
    /// The number of the probe.
    pub probe: u32,
    /// The sequence number of the packet.
    pub seq: u32,
    /// The network namespace of its interface, by its inode number; 0 if it had no interface.
    pub namespace: u32,
    /// The CPU that dropped it.
    pub cpu: u32,
    /// The name of its interface there, up to the first 0.
    pub interface: [u8; 16],
}

/// A watch for dropped packets. The program is taken off on drop, and by the kernel if this process is killed.
pub struct Drops {
    events: RingBuf<MapData>,
    kept: VecDeque<DroppedPacket>,
    /// The program stays attached as long as this.
    _object: Ebpf,
}

impl Drops {
    /// Start to watch for packets whose probe header begins with this number.
    ///
    /// This needs `CAP_BPF` and `CAP_PERFMON` outside of user namespaces, and a kernel that describes its types and
    /// says why it drops packets (Linux 5.17).
    pub fn start(magic: u32) -> io::Result<Self> {
        let types = Btf::from_sys_fs().map_err(refused)?;
        let mut loader = EbpfLoader::new();
        loader.btf(Some(&types)).set_global("MAGIC", &magic, true).set_max_entries("EVENTS", RING);
        let mut object = loader.load(OBJECT).map_err(refused)?;
        let program = object.program_mut("on_drop").expect("the object has this program");
        let program: &mut BtfTracePoint = program.try_into().map_err(refused)?;
        program.load("kfree_skb", &types).map_err(refused)?;
        program.attach().map_err(refused)?;
        let events = object.take_map("EVENTS").expect("the object has this map");
        let events = events.try_into().map_err(refused)?;
        Ok(Self { events, kept: VecDeque::new(), _object: object })
    }

    /// Copy the packets that were dropped since the last call; the oldest ones go when there are too many.
    pub fn collect(&mut self) {
        while let Some(item) = self.events.next() {
            let reported: &Reported = record(&item);
            self.kept.push_back(DroppedPacket {
                time: Monotonic::from_ns(reported.time_ns.cast_signed()),
                reason: reported.reason,
                probe: reported.probe,
                seq: reported.seq,
                namespace: reported.namespace,
                cpu: reported.cpu,
                interface: reported.name,
            });
        }
        let over = self.kept.len().saturating_sub(MOST);
        self.kept.drain(..over);
    }

    /// Return the packets that were dropped from one time to another, in the order in which that was reported.
    pub fn between(&self, from: Monotonic, to: Monotonic) -> impl Iterator<Item = &DroppedPacket> {
        self.kept.iter().filter(move |packet| packet.time >= from && packet.time <= to)
    }
}

impl fmt::Debug for Drops {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Drops, {} kept", self.kept.len())
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    const MAGIC: u32 = 0x6465_6c79;

    /// The kernel answers a datagram to a port that nobody listens at, and drops it for a reason that has a name.
    #[test]
    fn a_datagram_that_nobody_waits_for_is_dropped_for_that_reason() {
        let Ok(mut drops) = Drops::start(MAGIC) else { return };
        let began = Monotonic::now();
        let closed = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let to = closed.local_addr().expect("its address");
        drop(closed);
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let header = [MAGIC, 0, 77, 5, 0, 0];
        let bytes: Vec<u8> = header.iter().flat_map(|word| word.to_be_bytes()).collect();
        sender.send_to(&bytes, to).expect("it is sent");
        // On loopback the datagram is dropped within the call that sends it.
        drops.collect();
        let found: Vec<_> = drops.between(began, Monotonic::now()).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].probe, found[0].seq), (77, 5));
        assert!(found[0].interface.starts_with(b"lo\0"));
        let reasons = Reasons::read().expect("the kernel's reasons");
        assert_eq!(reasons.name(found[0].reason), Some("NO_SOCKET"));
    }
}
