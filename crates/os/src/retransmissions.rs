//! TCP segments that the kernel sends again (`bpf/retransmissions.c`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::{fmt, io};

use aya::maps::{MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader, Pod};

use crate::bpf::{record, refused};
use crate::clock::Monotonic;

/// The compiled `bpf/retransmissions.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/retransmissions.o");
/// The programs, and the kernel's trace points that they run at. A kernel need not have those after the first.
const PROGRAMS: [(&str, &str); 3] = [
    ("on_retransmission", "tcp_retransmit_skb"),
    ("on_syn_ack", "tcp_retransmit_synack"),
    ("on_old_data", "kfree_skb"),
];
/// The size in bytes of the ring: room for 3000 segments between two reads.
const RING: u32 = 1 << 18;
/// The most segments that are kept.
const MOST: usize = 20_000;
/// The states of a socket as ss(8) names them, by the kernel's numbers (include/net/tcp_states.h).
const STATES: [&str; 13] = [
    "unknown",
    "established",
    "syn-sent",
    "syn-recv",
    "fin-wait-1",
    "fin-wait-2",
    "time-wait",
    "closed",
    "close-wait",
    "last-ack",
    "listening",
    "closing",
    "syn-recv",
];

/// The layout of `struct segment` in `bpf/retransmissions.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Reported {
    time_ns: u64,
    first_ns: u64,
    namespace: u32,
    sequence: u32,
    length: u32,
    local_port: u16,
    remote_port: u16,
    local: [u8; 16],
    remote: [u8; 16],
    state: u32,
    came: u32,
}

// SAFETY: plain integers without padding.
unsafe impl Pod for Reported {}

/// A segment that was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// The time at which it was sent again.
    pub time: Monotonic,
    /// The time at which the first of what the other end had not acknowledged was sent first; `None` of a SYN.
    pub first: Option<Monotonic>,
    /// The network namespace of the socket, by its inode number.
    pub namespace: u32,
    /// This end of the connection.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// The sequence numbers that it takes.
    pub length: u32,
    /// The state of the socket, as ss(8) names it.
    pub state: &'static str,
    /// True if the other end had the bytes already, and is on this machine.
    pub needless: bool,
}

/// The first byte of a segment: the ports of its sender and receiver, and its sequence number.
type FirstByte = (u16, u16, u32);

impl Retransmission {
    fn of(reported: &Reported) -> Self {
        let end = |address: [u8; 16], port| {
            SocketAddr::new(IpAddr::V6(Ipv6Addr::from(address)).to_canonical(), port)
        };
        let time = |ns: u64| Monotonic::from_ns(ns.cast_signed());
        Self {
            time: time(reported.time_ns),
            first: (reported.first_ns != 0).then(|| time(reported.first_ns)),
            namespace: reported.namespace,
            local: end(reported.local, reported.local_port),
            remote: end(reported.remote, reported.remote_port),
            sequence: reported.sequence,
            length: reported.length,
            state: STATES.get(reported.state as usize).copied().unwrap_or(STATES[0]),
            needless: false,
        }
    }

    fn first_byte(&self) -> FirstByte {
        (self.local.port(), self.remote.port(), self.sequence)
    }
}

/// A watch for segments that are sent again. The programs are taken off on drop, and by the kernel if this process is
/// killed.
pub struct Retransmissions {
    events: RingBuf<MapData>,
    kept: VecDeque<Retransmission>,
    /// The first bytes of segments that came to a socket on this machine which had them already.
    came: VecDeque<FirstByte>,
    /// The programs stay attached as long as this.
    _object: Ebpf,
}

impl Retransmissions {
    /// Start to watch for them.
    ///
    /// This needs `CAP_BPF` and `CAP_PERFMON` outside of user namespaces, and a kernel that describes its types.
    pub fn start() -> io::Result<Self> {
        let types = Btf::from_sys_fs().map_err(refused)?;
        let mut loader = EbpfLoader::new();
        loader.btf(Some(&types)).set_max_entries("EVENTS", RING);
        let mut object = loader.load(OBJECT).map_err(refused)?;
        for (place, (name, point)) in PROGRAMS.into_iter().enumerate() {
            let program = object.program_mut(name).expect("the object has this program");
            let program: &mut BtfTracePoint = program.try_into().map_err(refused)?;
            match program.load(point, &types) {
                Ok(()) => _ = program.attach().map_err(refused)?,
                Err(error) if place == 0 => return Err(refused(error)),
                Err(_) => {}
            }
        }
        let events = object.take_map("EVENTS").expect("the object has this map");
        let events = events.try_into().map_err(refused)?;
        Ok(Self { events, kept: VecDeque::new(), came: VecDeque::new(), _object: object })
    }

    /// Copy the segments that were sent again since the last call, and return the network namespaces of their sockets.
    ///
    /// The oldest ones go when there are too many.
    pub fn collect(&mut self) -> BTreeSet<u32> {
        let mut namespaces = BTreeSet::new();
        while let Some(item) = self.events.next() {
            let reported: &Reported = record(&item);
            let segment = Retransmission::of(reported);
            if reported.came == 0 {
                namespaces.insert(segment.namespace);
                self.kept.push_back(segment);
            } else {
                self.came.push_back(segment.first_byte());
            }
        }
        self.kept.drain(..self.kept.len().saturating_sub(MOST));
        self.came.drain(..self.came.len().saturating_sub(MOST));
        namespaces
    }

    /// Return the segments that were sent again from one time to another, in the order of time.
    pub fn between(&self, from: Monotonic, to: Monotonic) -> Vec<Retransmission> {
        let judged = judged(&self.kept, &self.came);
        judged.into_iter().filter(|each| each.time >= from && each.time <= to).collect()
    }
}

impl fmt::Debug for Retransmissions {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Retransmissions, {} kept", self.kept.len())
    }
}

/// Return the segments in the order of time, with those `needless` that the other end had already.
///
/// The other end takes the first copy of a segment that arrives, and drops each later one as old data. So if it dropped
/// three copies, the last three that were sent were needless.
fn judged(sent: &VecDeque<Retransmission>, came: &VecDeque<FirstByte>) -> Vec<Retransmission> {
    let mut late = BTreeMap::<FirstByte, usize>::new();
    for each in came {
        *late.entry(*each).or_default() += 1;
    }
    let mut found: Vec<_> = sent.iter().copied().collect();
    found.sort_by_key(|each| each.time);
    for segment in found.iter_mut().rev() {
        if let Some(left) = late.get_mut(&segment.first_byte()).filter(|left| **left > 0) {
            *left -= 1;
            segment.needless = true;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use super::*;
    use crate::socket::connection::listener;
    use crate::socket::local_address;

    fn sent(ns: i64, sequence: u32) -> Retransmission {
        let end = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Retransmission {
            time: Monotonic::from_ns(ns),
            first: None,
            namespace: 1,
            local: end(5),
            remote: end(80),
            sequence,
            length: 10,
            state: "established",
            needless: false,
        }
    }

    fn needless(sent: [Retransmission; 3], came: &[FirstByte]) -> Vec<bool> {
        let found = judged(&sent.into(), &came.iter().copied().collect());
        found.iter().map(|each| each.needless).collect()
    }

    #[test]
    fn as_many_of_the_last_copies_were_needless_as_came_too_late() {
        let copies = [sent(1, 7), sent(2, 7), sent(3, 7)];
        assert_eq!(needless(copies, &[]), [false, false, false]);
        assert_eq!(needless(copies, &[(5, 80, 7)]), [false, false, true]);
        assert_eq!(needless(copies, &[(5, 80, 7), (5, 80, 7)]), [false, true, true]);
    }

    #[test]
    fn a_copy_of_another_segment_says_nothing() {
        let copies = [sent(1, 7), sent(2, 7), sent(3, 8)];
        assert_eq!(needless(copies, &[(5, 81, 7), (80, 5, 7)]), [false, false, false]);
        assert_eq!(needless(copies, &[(5, 80, 8)]), [false, false, true]);
    }

    /// The queue of a listening socket that is full drops further connections, whose SYN is then sent again.
    #[test]
    fn a_syn_that_nobody_answers_is_sent_again_after_a_second() {
        let Ok(mut watch) = Retransmissions::start() else { return };
        let began = Monotonic::now();
        let full = listener(([127, 0, 0, 1], 0).into(), 0).expect("a port");
        let to = local_address(full.as_fd()).expect("its address");
        let wait = Duration::from_millis(1300);
        let opened: Vec<_> = (0..3).map(|_| TcpStream::connect_timeout(&to, wait)).collect();
        assert!(opened.iter().any(Result::is_err), "{opened:?}");
        watch.collect();
        let found = watch.between(began, Monotonic::now());
        let again: Vec<_> = found.iter().filter(|each| each.remote == to).collect();
        assert!(!again.is_empty(), "{found:?}");
        assert!(again.iter().all(|each| each.state == "syn-sent" && each.first.is_none()));
    }
}
