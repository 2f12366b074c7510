//! Queueing disciplines (qdiscs) of a network namespace and their counters, and filters at its interfaces.

use std::io;

use netlink_packet_core::{
    NlaBuffer, NlasIterator, ParseableParametrized, parse_string, parse_u64,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcHandle, TcHeader, TcMessage, TcStats2, TcStatsBasic, TcStatsQueue,
};

use super::{RouteSocket, attributes};

/// The attribute of the packets in 64 bits (linux/gen_stats.h), which netlink-packet-route does not know.
const TCA_STATS_PKT64: u16 = 8;

/// The parent of the qdiscs `ingress` and `clsact` (linux/pkt_sched.h), which hold no packets.
const INGRESS: u32 = 0xffff_fff1;
/// The kinds whose options also hold counters.
const COUNTING: [&str; 2] = ["htb", "sfq"];

/// A queueing discipline and its counters since it was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QdiscCounters {
    /// The index of the qdisc's interface.
    pub interface: u32,
    /// The handle, with the major number in the upper half.
    pub handle: u32,
    /// The kind: `netem`, `tbf`, …
    pub kind: String,
    /// Packets that have left the qdisc.
    pub packets: u64,
    /// Bytes that have left the qdisc.
    pub bytes: u64,
    /// Packets that the qdisc refused or dropped later; the counter wraps around.
    pub drops: u32,
    /// Packets that wait in the qdisc.
    pub waiting_packets: u32,
    /// Bytes that wait in the qdisc.
    pub waiting_bytes: u32,
}

/// Read all qdiscs of the namespace in which the socket was opened.
pub fn read(socket: &RouteSocket) -> io::Result<Vec<QdiscCounters>> {
    let question = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
    let answers = socket.dump(question)?;
    Ok(answers.iter().filter_map(|answer| counters(answer)).collect())
}

/// The queues of one interface as they are set up, without their counters: two readings are equal if nobody has
/// set up another queue between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceQueues {
    /// The kind of the outermost queue: `noqueue`, `tbf`, …
    pub kind: String,
    /// The parent, the kind and the options of each queue.
    queues: Vec<(u32, String, Vec<u8>)>,
}

impl InterfaceQueues {
    /// Read the queues of an interface of the namespace in which the socket was opened.
    pub fn read(socket: &RouteSocket, interface: u32) -> io::Result<Self> {
        let question = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
        Ok(Self::of(&socket.dump(question)?, interface))
    }

    fn of(answers: &[Vec<u8>], interface: u32) -> Self {
        let mut queues: Vec<_> = answers
            .iter()
            .filter_map(|answer| settings(answer, interface))
            .filter(|(parent, ..)| *parent != INGRESS)
            .collect();
        queues.sort();
        let root = queues.iter().find(|(parent, ..)| *parent == u32::from(TcHandle::ROOT));
        let kind = root.map_or_else(|| "noqueue".to_owned(), |(_, kind, _)| kind.clone());
        Self { kind, queues }
    }
}

/// Read the parent, the kind and the options of an interface's qdisc; `None` for a qdisc of another interface.
fn settings(message: &[u8], interface: u32) -> Option<(u32, String, Vec<u8>)> {
    let header = TcHeader::parse(message).ok()?;
    if header.index.cast_unsigned() != interface {
        return None;
    }
    let find = |wanted| attributes(message, &header).find(|nla| nla.kind() == wanted);
    let kind = parse_string(find(libc::TCA_KIND)?.value()).ok()?;
    let options = find(libc::TCA_OPTIONS).map(|nla| nla.value().to_vec()).unwrap_or_default();
    let options = if COUNTING.contains(&kind.as_str()) { Vec::new() } else { options };
    Some((header.parent.into(), kind, options))
}

/// Return true if an interface has a filter at its ingress hook (`clsact`). An interface that is not there
/// has none.
pub fn has_ingress_filter(socket: &RouteSocket, interface: u32) -> io::Result<bool> {
    let mut message = TcMessage::with_index(interface.cast_signed());
    message.header.parent = TcHandle { major: u16::MAX, minor: TcHandle::MIN_INGRESS };
    Ok(!socket.dump(RouteNetlinkMessage::GetTrafficFilter(message))?.is_empty())
}

/// The statistics of a qdisc.
#[derive(Default)]
struct Statistics {
    basic: TcStatsBasic,
    queue: TcStatsQueue,
    packets: Option<u64>,
}

/// Read a message about a qdisc; `None` if it does not name the kind.
fn counters(message: &[u8]) -> Option<QdiscCounters> {
    let header = TcHeader::parse(message).ok()?;
    let find = |wanted| attributes(message, &header).find(|nla| nla.kind() == wanted);
    let kind = parse_string(find(libc::TCA_KIND)?.value()).ok()?;
    // `clsact` has no statistics in some kernels.
    let Statistics { basic, queue, packets } =
        find(libc::TCA_STATS2).map(|nla| statistics(&nla)).unwrap_or_default();
    Some(QdiscCounters {
        interface: header.index.cast_unsigned(),
        handle: header.handle.into(),
        kind,
        packets: packets.unwrap_or(basic.packets.into()),
        bytes: basic.bytes,
        drops: queue.drops,
        waiting_packets: queue.qlen,
        waiting_bytes: queue.backlog,
    })
}

/// Read the attributes in `TCA_STATS2`; those of a kind's own statistics are left out.
fn statistics(attribute: &NlaBuffer<&[u8]>) -> Statistics {
    let mut found = Statistics::default();
    for nla in NlasIterator::new(attribute.value()).map_while(Result::ok) {
        match TcStats2::parse_with_param(&nla, "") {
            Ok(TcStats2::Basic(basic)) => found.basic = basic,
            Ok(TcStats2::Queue(queue)) => found.queue = queue,
            _ if nla.kind() == TCA_STATS_PKT64 => found.packets = parse_u64(nla.value()).ok(),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attributes in `TCA_STATS2` (linux/gen_stats.h).
    const TCA_STATS_BASIC: u16 = 1;
    const TCA_STATS_QUEUE: u16 = 3;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn an_answer_of_the_kernel_is_read() {
        let words = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_ne_bytes()).collect()
        };
        let basic = [7000u64.to_ne_bytes().to_vec(), words(&[70, 0])].concat();
        let statistics = [
            attribute(TCA_STATS_BASIC, &basic),
            attribute(TCA_STATS_QUEUE, &words(&[3, 300, 5, 0, 9])),
        ];
        let mut message = words(&[0, 4, 0x1_0000, 0xffff_ffff, 2]);
        message.extend(attribute(libc::TCA_KIND, b"netem\0"));
        message.extend(attribute(libc::TCA_STATS2, &statistics.concat()));
        let expected = QdiscCounters {
            interface: 4,
            handle: 0x1_0000,
            kind: "netem".into(),
            packets: 70,
            bytes: 7000,
            drops: 5,
            waiting_packets: 3,
            waiting_bytes: 300,
        };
        assert_eq!(counters(&message), Some(expected));
        // Many packets are counted in 64 bits beside, and in the lower 32 bits.
        let many = attribute(TCA_STATS_PKT64, &0x1_0000_0046u64.to_ne_bytes());
        let mut busy = message[..32].to_vec();
        busy.extend(attribute(libc::TCA_STATS2, &[statistics.concat(), many].concat()));
        assert_eq!(counters(&busy).unwrap().packets, 0x1_0000_0046);
        // Cut behind the kind, as for a qdisc without statistics; then cut within the kind.
        let uncounted = counters(&message[..30]).unwrap();
        assert_eq!((uncounted.kind.as_str(), uncounted.packets), ("netem", 0));
        assert_eq!(counters(&message[..29]), None);
    }

    /// A qdisc of interface 4 whose options are this number.
    fn qdisc(kind: &[u8], parent: u32, option: u32) -> Vec<u8> {
        let header = [0, 4, 0x1_0000, parent, 2].map(u32::to_ne_bytes).concat();
        let named = attribute(libc::TCA_KIND, kind);
        let options = attribute(libc::TCA_OPTIONS, &option.to_ne_bytes());
        let counted = attribute(libc::TCA_STATS2, &attribute(TCA_STATS_QUEUE, &[option as u8; 20]));
        [header, named, options, counted].concat()
    }

    #[test]
    fn another_queue_or_another_limit_is_a_change_and_a_counter_is_none() {
        let root = u32::from(TcHandle::ROOT);
        let of = |answers: &[Vec<u8>]| InterfaceQueues::of(answers, 4);
        let none = of(&[]);
        assert_eq!(none.kind, "noqueue");
        let bucket = of(&[qdisc(b"tbf\0", root, 1000)]);
        assert_eq!(bucket.kind, "tbf");
        assert_ne!(bucket, none);
        assert_ne!(bucket, of(&[qdisc(b"tbf\0", root, 2000)]));
        assert_ne!(bucket, of(&[qdisc(b"tbf\0", root, 1000), qdisc(b"pfifo\0", 0x1_0001, 5)]));
        let mut counted = qdisc(b"tbf\0", root, 1000);
        *counted.last_mut().unwrap() += 1;
        assert_eq!(bucket, of(&[counted]));
        // The options of these kinds count packets.
        assert_eq!(of(&[qdisc(b"htb\0", root, 1)]), of(&[qdisc(b"htb\0", root, 2)]));
        // A filter's place is no queue, and other interfaces do not matter.
        assert_eq!(of(&[qdisc(b"clsact\0", INGRESS, 0)]), none);
        assert_eq!(InterfaceQueues::of(&[qdisc(b"tbf\0", root, 1)], 5), none);
    }

    #[test]
    fn the_machine_s_own_can_be_asked_for() {
        let loopback = nix::net::if_::if_nametoindex("lo").unwrap();
        let socket = RouteSocket::open().unwrap();
        assert!(read(&socket).unwrap().iter().all(|queue| !queue.kind.is_empty()));
        assert!(!has_ingress_filter(&socket, loopback).unwrap());
        assert_eq!(InterfaceQueues::read(&socket, loopback).unwrap().kind, "noqueue");
    }
}
