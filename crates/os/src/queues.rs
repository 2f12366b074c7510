//! Queueing disciplines of a network namespace and their counters (rtnetlink(7)).

use std::io;

use crate::netlink::Route;
use crate::query::attribute;

/// The length of `struct tcmsg`: family and padding, interface, handle, parent, info.
const TCMSG: usize = 20;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
/// Attributes in `TCA_STATS2`: `gnet_stats_basic`, `gnet_stats_queue`, and packets in 64 bits.
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
const STATS_PKT64: u16 = 8;

/// A queueing discipline and its counters since it was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
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
pub fn read(socket: &Route) -> io::Result<Vec<Queue>> {
    let answers = socket.dump(libc::RTM_GETQDISC, &[0; TCMSG])?;
    Ok(answers.iter().filter_map(|answer| queue(answer)).collect())
}

/// Return true if an interface has a filter at its ingress hook (`clsact`).
pub fn has_ingress_filter(socket: &Route, interface: u32) -> io::Result<bool> {
    const CLSACT_INGRESS: u32 = 0xffff_fff2;
    let mut message = [0; TCMSG];
    message[4..8].copy_from_slice(&interface.to_ne_bytes());
    message[12..16].copy_from_slice(&CLSACT_INGRESS.to_ne_bytes());
    Ok(!socket.dump(libc::RTM_GETTFILTER, &message)?.is_empty())
}

fn queue(message: &[u8]) -> Option<Queue> {
    let attributes = message.get(TCMSG..)?;
    let kind = attribute(attributes, TCA_KIND)?.strip_suffix(&[0])?;
    // `clsact` has no statistics in some kernels.
    let statistics = attribute(attributes, TCA_STATS2).unwrap_or_default();
    let basic = attribute(statistics, STATS_BASIC).unwrap_or_default();
    let waiting = attribute(statistics, STATS_QUEUE).unwrap_or_default();
    let packets = attribute(statistics, STATS_PKT64).and_then(|value| u64_at(value, 0));
    Some(Queue {
        interface: u32_at(message, 4)?,
        handle: u32_at(message, 8)?,
        kind: String::from_utf8_lossy(kind).into_owned(),
        packets: packets.or(u32_at(basic, 8).map(u64::from)).unwrap_or(0),
        bytes: u64_at(basic, 0).unwrap_or(0),
        drops: u32_at(waiting, 8).unwrap_or(0),
        waiting_packets: u32_at(waiting, 0).unwrap_or(0),
        waiting_bytes: u32_at(waiting, 4).unwrap_or(0),
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let statistics =
            [attribute(STATS_BASIC, &basic), attribute(STATS_QUEUE, &words(&[3, 300, 5, 0, 9]))];
        let mut message = words(&[0, 4, 0x1_0000, 0xffff_ffff, 2]);
        message.extend(attribute(TCA_KIND, b"netem\0"));
        message.extend(attribute(TCA_STATS2, &statistics.concat()));
        let expected = Queue {
            interface: 4,
            handle: 0x1_0000,
            kind: "netem".into(),
            packets: 70,
            bytes: 7000,
            drops: 5,
            waiting_packets: 3,
            waiting_bytes: 300,
        };
        assert_eq!(queue(&message), Some(expected));
        // Cut behind the kind, as for a qdisc without statistics; then cut within the kind.
        let uncounted = queue(&message[..30]).unwrap();
        assert_eq!((uncounted.kind.as_str(), uncounted.packets), ("netem", 0));
        assert_eq!(queue(&message[..29]), None);
    }

    #[test]
    fn the_machine_s_own_can_be_asked_for() {
        let loopback = nix::net::if_::if_nametoindex("lo").unwrap();
        let socket = Route::open().unwrap();
        assert!(read(&socket).unwrap().iter().all(|queue| !queue.kind.is_empty()));
        assert!(!has_ingress_filter(&socket, loopback).unwrap());
    }
}
