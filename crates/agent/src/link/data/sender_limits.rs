//! The senders that are limited to their links' rates at their own interfaces.

use std::collections::BTreeMap;
use std::{io, thread};

use delaylab_link::{Conditions, FASTEST_BPS};
use delaylab_os::interface::interface_index;
use delaylab_os::netlink::RouteSocket;
use delaylab_os::netlink::qdiscs::{self, QdiscCounters};
use delaylab_os::process::{PidFd, namespace};
use delaylab_proto::{Context, Failure};
use delaylab_wire::ETHERNET_HEADER;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcHandle;

use crate::link::configured::Changed;
use crate::network::batch::{Batch, Verb};
use crate::network::tbf::Bucket;
use crate::protocol::links::{Card, EngineLinks};

/// The pids of the agents that hold the network namespaces of nodes' interfaces, by agent name.
pub(crate) type Agents = BTreeMap<String, i32>;

/// The limits of all directions of a host.
pub(crate) struct SenderLimits<'a> {
    /// For each direction the interface of its node and the link's MTU.
    cards: Vec<(Option<&'a Card>, u32)>,
    agents: &'a Agents,
    /// The limits in force with their buckets, by direction.
    limited: BTreeMap<usize, (SenderLimit, Bucket)>,
}

impl<'a> SenderLimits<'a> {
    /// Build the state in which no sender is limited.
    pub(crate) fn new(links: &'a EngineLinks, agents: &'a Agents) -> Self {
        let cards = links.members().map(|(link, member)| (member.card.as_ref(), link.mtu));
        Self { cards: cards.collect(), agents, limited: BTreeMap::new() }
    }

    /// Release the senders that an ended engine limited.
    pub(crate) fn release_all(&self) {
        for card in self.cards.iter().filter_map(|(card, _)| *card) {
            // If the interface is gone, so is its filter.
            let _ = self.open(card).and_then(|limit| limit.release());
        }
    }

    /// Limit senders as their new conditions require; after an error restore the former limits.
    pub(crate) fn change(&mut self, changed: &[Changed]) -> Result<(), Failure> {
        let mut before = Vec::new();
        for Changed { direction, conditions } in changed {
            // Directions of what nodes receive come after those of the cards.
            let Some((_, mtu)) = self.cards.get(*direction) else { continue };
            let wanted = bucket(conditions, *mtu);
            before.push((*direction, self.limited.get(direction).map(|(_, bucket)| *bucket)));
            if let Err(failure) = self.set(*direction, wanted) {
                for (direction, wanted) in before.into_iter().rev() {
                    // The former limits were possible, so restoring them should be, too.
                    let _ = self.set(direction, wanted);
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Return the frames and bytes that wait at a direction's sender.
    pub(crate) fn waiting(&self, direction: usize) -> (usize, u64) {
        self.limited.get(&direction).and_then(|(limit, _)| limit.waiting()).unwrap_or_default()
    }

    fn set(&mut self, direction: usize, wanted: Option<Bucket>) -> Result<(), Failure> {
        match (self.limited.get_mut(&direction), wanted) {
            (None, None) => Ok(()),
            (Some((limit, bucket)), Some(wanted)) => {
                if *bucket != wanted {
                    limit.set(&wanted)?;
                    *bucket = wanted;
                }
                Ok(())
            }
            (Some((limit, _)), None) => {
                limit.release()?;
                self.limited.remove(&direction);
                Ok(())
            }
            (None, Some(wanted)) => {
                let (card, _) = self.cards[direction];
                let card = card.expect("conditions were checked");
                let limit = self.open(card)?;
                limit.set(&wanted)?;
                self.limited.insert(direction, (limit, wanted));
                Ok(())
            }
        }
    }

    fn open(&self, card: &Card) -> Result<SenderLimit, Failure> {
        let pid = self.agents.get(&card.r#in).copied().ok_or_else(|| {
            let what = format!("find the interface {} in {}", card.on, card.r#in);
            Failure::new(what, "no agent before this one has that name")
        })?;
        SenderLimit::open(card, pid)
    }
}

/// The filter's handle, which tells it from a qdisc that somebody else has set on the interface.
const HANDLE: TcHandle = TcHandle { major: 0xd1a7, minor: 0 };
/// The burst as a fraction of a second's bytes: 2 ms, because a timer of the kernel is seldom later than
/// that.
const BURSTS_PER_SECOND: u64 = 500;
/// The least burst in full frames.
const BURST_FRAMES: u64 = 4;
/// The limit of waiting full frames, as many as an interface's usual queue holds.
const LIMIT_FRAMES: u32 = 1000;

/// A node's interface, seen from outside of its network namespace.
pub(crate) struct SenderLimit {
    socket: RouteSocket,
    index: u32,
    /// The interface's name for messages.
    name: String,
}

/// Return the filter at the sender's interface that these conditions require, if any.
pub(crate) fn bucket(conditions: &Conditions, mtu: u32) -> Option<Bucket> {
    let rate = conditions.rate.as_ref().filter(|_| conditions.held_by_sender())?;
    let full = mtu + ETHERNET_HEADER as u32;
    let framed = u64::from(full + rate.overhead_bytes);
    let burst = (rate.bps / 8 / BURSTS_PER_SECOND).max(BURST_FRAMES * framed);
    // The filter's fields are narrower. Frames that it lets through too fast wait in the link.
    Some(Bucket {
        rate_bps: rate.bps,
        overhead_bytes: u16::try_from(rate.overhead_bytes).unwrap_or(u16::MAX),
        minimum_bytes: u16::try_from(rate.minimum_bytes).unwrap_or(u16::MAX),
        burst_bytes: u32::try_from(burst).unwrap_or(u32::MAX),
        limit_bytes: full.saturating_mul(LIMIT_FRAMES),
    })
}

impl SenderLimit {
    /// Find a node's interface in the network namespace of its agent, which has this pid.
    pub(crate) fn open(card: &Card, pid: i32) -> Result<Self, Failure> {
        let name = format!("{} in {}", card.on, card.r#in);
        let what = || format!("find the interface {name}");
        // A socket stays in the network namespace in which it was opened; the thread that opens it ends.
        let opened = thread::scope(|scope| {
            let inside = scope.spawn(|| -> io::Result<(RouteSocket, u32)> {
                namespace::join_network(&PidFd::open(pid)?)?;
                Ok((RouteSocket::open()?, interface_index(&card.on)?))
            });
            inside.join().unwrap_or_else(|_| Err(io::Error::other("a thread has ended")))
        });
        let (socket, index) = opened.with_context(what)?;
        Ok(Self { socket, index, name })
    }

    /// Set or change the filter; waiting frames stay.
    pub(crate) fn set(&self, bucket: &Bucket) -> Result<(), Failure> {
        let mut message = bucket.of_interface(self.index);
        message.header.handle = HANDLE;
        let message = RouteNetlinkMessage::NewQueueDiscipline(message);
        Batch::one(&self.socket, format!("hold frames at {}", self.name), Verb::Replace, message)
    }

    /// Stop limiting the sender, if it was limited. The filter stays, with its limits open: removing it would
    /// lose frames sent meanwhile, because the kernel stops the interface to change its root qdisc.
    pub(crate) fn release(&self) -> Result<(), Failure> {
        let limit_bytes = u32::MAX;
        let burst_bytes = u32::MAX;
        let open = Bucket { rate_bps: FASTEST_BPS, burst_bytes, limit_bytes, ..Bucket::default() };
        self.waiting().map_or(Ok(()), |_| self.set(&open))
    }

    /// Return the frames and bytes that wait in the filter; `None` if there is no filter.
    pub(crate) fn waiting(&self) -> Option<(usize, u64)> {
        // Read all qdiscs: a kernel may leave a request for a single one unanswered (6.18 does).
        let queues = qdiscs::read(&self.socket).ok()?;
        let ours =
            |queue: &&QdiscCounters| (queue.interface, queue.handle) == (self.index, HANDLE.into());
        let queue = queues.iter().find(ours)?;
        Some((queue.waiting_packets as usize, queue.waiting_bytes.into()))
    }
}
