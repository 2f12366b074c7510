//! `queues`: the counters of interfaces' outermost queues.

use std::collections::BTreeMap;

use delaylab_os::interface::interface_index;
use delaylab_os::netlink::RouteSocket;
use delaylab_os::netlink::qdiscs::{self, QdiscCounters};
use delaylab_proto::{Context, Failure};

use crate::protocol::network::{QueueCounters, Queues, QueuesDone};
use crate::session::Session;

/// Read the queues of this process's network namespace once.
pub(crate) fn serve(request: Queues, _: &mut Session) -> Result<QueuesDone, Failure> {
    let socket = RouteSocket::open().context("read the queues")?;
    let found = qdiscs::read(&socket).context("read the queues")?;
    let queues: BTreeMap<_, _> = request
        .on
        .into_iter()
        .filter_map(|name| {
            let index = interface_index(&name).ok()?;
            Some((name, outermost(&found, index)?))
        })
        .collect();
    Ok(QueuesDone { queues })
}

/// Return the counters of an interface's outermost queue: the kernel names it before those inside of it.
fn outermost(found: &[QdiscCounters], index: u32) -> Option<QueueCounters> {
    let queue = found.iter().find(|queue| queue.interface == index && queue.kind != "clsact")?;
    Some(QueueCounters {
        frames: queue.packets,
        bytes: queue.bytes,
        dropped: queue.drops,
        waiting_frames: queue.waiting_packets,
        waiting_bytes: queue.waiting_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(interface: u32, kind: &str, drops: u32) -> QdiscCounters {
        QdiscCounters {
            interface,
            handle: 0,
            kind: kind.to_owned(),
            packets: 5,
            bytes: 500,
            drops,
            waiting_packets: 2,
            waiting_bytes: 200,
        }
    }

    #[test]
    fn the_outermost_queue_of_an_interface_counts() {
        let found =
            [queue(2, "tbf", 1), queue(3, "clsact", 2), queue(3, "tbf", 3), queue(3, "bfifo", 4)];
        assert_eq!(outermost(&found, 3).unwrap().dropped, 3);
        assert_eq!(outermost(&found, 2).unwrap().dropped, 1);
        assert!(outermost(&found, 4).is_none());
    }
}
