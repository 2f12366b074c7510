//! Queueing disciplines (qdiscs) of a network namespace and their counters, and filters at its interfaces.

use std::io;

use netlink_packet_core::{
    NlaBuffer, NlasIterator, ParseableParametrized, parse_string, parse_u64,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcHandle, TcHeader, TcMessage, TcStats2, TcStatsBasic, TcStatsQueue,
};

use super::message::attributes;
use super::route_socket::Route;

/// The attribute of the packets in 64 bits (linux/gen_stats.h), which netlink-packet-route does not know.
const TCA_STATS_PKT64: u16 = 8;

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
pub fn read(socket: &Route) -> io::Result<Vec<QdiscCounters>> {
    let question = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
    let answers = socket.dump(question)?;
    Ok(answers.iter().filter_map(|answer| counters(answer)).collect())
}

/// Return true if an interface has a filter at its ingress hook (`clsact`). An interface that is not there
/// has none.
pub fn has_ingress_filter(socket: &Route, interface: u32) -> io::Result<bool> {
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

    #[test]
    fn the_machine_s_own_can_be_asked_for() {
        let loopback = nix::net::if_::if_nametoindex("lo").unwrap();
        let socket = Route::open().unwrap();
        assert!(read(&socket).unwrap().iter().all(|queue| !queue.kind.is_empty()));
        assert!(!has_ingress_filter(&socket, loopback).unwrap());
    }
}
