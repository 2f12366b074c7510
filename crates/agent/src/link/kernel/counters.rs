//! The kernel's counters of each direction, and a check that all links are still in place.

use std::collections::BTreeMap;
use std::path::Path;

use delaylab_os::netlink::interface;
use delaylab_os::netlink::qdiscs::{self, QdiscCounters};
use delaylab_proto::{Context, Failure};

use super::links::{KernelDirection, KernelLinks};
use super::qdisc;
use crate::link::data::direction::{Counts, Snapshot};
use crate::network::counters;
use crate::protocol::links::{Dropped, Tally};
use crate::protocol::network::InterfaceCounters;

/// All counters at one moment.
pub(crate) struct KernelCounters {
    interfaces: BTreeMap<String, InterfaceCounters>,
    queues: Vec<QdiscCounters>,
    /// The frames dropped by programs, in the order of the directions.
    lost: Vec<u64>,
}

impl KernelCounters {
    pub(crate) fn read(links: &KernelLinks) -> Result<Self, Failure> {
        Ok(Self {
            interfaces: counters::interfaces(Path::new("/proc/thread-self/net"))?,
            queues: read_queues(links)?,
            lost: links.directions.iter().map(lost).collect(),
        })
    }

    /// Return the counters of one direction since an earlier moment.
    pub(crate) fn since(
        &self,
        before: &Self,
        number: usize,
        direction: &KernelDirection,
    ) -> Snapshot {
        let entered = Tally::of(
            self.interface(before, &direction.port, |one| one.rx_packets),
            self.interface(before, &direction.port, |one| one.rx_bytes),
        );
        let lost = self.lost[number].wrapping_sub(before.lost.get(number).copied().unwrap_or(0));
        let tbf = self.queue_of(direction, "tbf");
        let waiting = tbf.map_or((0, 0), |tbf| (tbf.waiting_packets, tbf.waiting_bytes));
        let root = qdisc::of(&direction.setup)
            .first()
            .and_then(|root| self.queue_of(direction, root.kind));
        let left = match root {
            Some(now) => {
                let then = before.queue_of(direction, &now.kind);
                let (frames, bytes) = then.map_or((0, 0), |then| (then.packets, then.bytes));
                Tally::of(now.packets.saturating_sub(frames), now.bytes.saturating_sub(bytes))
            }
            // Nobody counts the bytes of frames that a program dropped.
            None => Tally::of(entered.frames.saturating_sub(lost), entered.bytes),
        };
        let dropped = self.dropped(before, direction, lost);
        Snapshot {
            counts: Counts { entered, left, dropped, ..Counts::default() },
            waiting: (waiting.0 as usize, waiting.1.into()),
            held: root.map_or(0, |root| root.waiting_packets),
        }
    }

    /// Return the drops of each queue, and of the program, which dropped `lost` frames.
    fn dropped(&self, before: &Self, direction: &KernelDirection, lost: u64) -> Dropped {
        let drops = |kind: &str| {
            let now = self.queue_of(direction, kind)?.drops;
            let then = before.queue_of(direction, kind).map_or(0, |queue| queue.drops);
            Some(u64::from(now.wrapping_sub(then)))
        };
        let queue = drops("tbf").unwrap_or(0);
        // CoDel counts drops at its limit as its own; the token bucket counts them, too.
        let early = drops("codel").unwrap_or(0).saturating_sub(queue);
        // netem counts frames that its inner queue refused as its own drops.
        let netem = drops("netem").unwrap_or(0).saturating_sub(queue);
        let loses = direction.setup.netem.as_ref().is_some_and(|netem| netem.loss.is_some());
        let (loss, memory) = if loses { (lost + netem, 0) } else { (lost, netem) };
        Dropped { loss, queue, early, memory, ..Dropped::default() }
    }

    fn interface(&self, before: &Self, name: &str, read: fn(&InterfaceCounters) -> u64) -> u64 {
        let of = |moment: &Self| moment.interfaces.get(name).map_or(0, read);
        of(self).saturating_sub(of(before))
    }

    /// Return the queue of a kind that a direction has; it has at most one of each.
    fn queue_of(&self, direction: &KernelDirection, kind: &str) -> Option<&QdiscCounters> {
        let ifb = direction.ifb?;
        self.queues.iter().find(|queue| queue.interface == ifb && queue.kind == kind)
    }
}

/// Check that all links are in place; return the part that is missing, if any.
pub(crate) fn vanished(links: &KernelLinks) -> Result<Option<String>, Failure> {
    let there = read_queues(links)?;
    for direction in &links.directions {
        let Some(ifb) = direction.ifb else { continue };
        for queue in qdisc::of(&direction.setup) {
            let is = |other: &QdiscCounters| {
                (other.interface, other.handle, other.kind.as_str())
                    == (ifb, queue.handle, queue.kind)
            };
            if !there.iter().any(is) {
                return Ok(Some(format!(
                    "the {} queue of {} has vanished",
                    queue.kind, direction.port
                )));
            }
        }
        // An interface that has vanished has no filters either.
        if !qdiscs::has_ingress_filter(&links.socket, direction.index).unwrap_or(false) {
            return Ok(Some(format!("the filter of {} has vanished", direction.port)));
        }
    }
    for (&bridge, ports) in &links.bridges {
        for &port in ports {
            if interface::master(port).ok().flatten() != Some(bridge) {
                return Ok(Some(format!("{} has left its bridge", name(links, port))));
            }
        }
    }
    Ok(None)
}

fn name(links: &KernelLinks, port: u32) -> &str {
    let direction = links.directions.iter().find(|direction| direction.index == port);
    direction.map_or("a port", |direction| direction.port.as_str())
}

fn lost(direction: &KernelDirection) -> u64 {
    direction.loss.as_ref().map_or(0, |program| program.counters().lost)
}

fn read_queues(links: &KernelLinks) -> Result<Vec<QdiscCounters>, Failure> {
    qdiscs::read(&links.socket).context("read the queues")
}
