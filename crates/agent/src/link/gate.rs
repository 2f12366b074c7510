//! What holds a sender to a link's rate at its own interface: a token bucket filter there.

use std::io;
use std::thread;

use delaylab_link::Conditions;
use delaylab_os::namespace;
use delaylab_os::netlink::Route;
use delaylab_os::process::PidFd;
use delaylab_os::queues::{self, Queue};
use delaylab_proto::Failure;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcHandle;

use super::plan::{Card, HEADER};
use crate::batch::{Batch, Verb};
use crate::tbf::Bucket;

/// The filter's name on its interface, by which it is told from a queue that somebody else has set there.
const HANDLE: TcHandle = TcHandle { major: 0xd1a7, minor: 0 };
/// What may leave at once after a pause, in time: a timer of the kernel is seldom later than 2 ms.
const BURSTS_PER_SECOND: u64 = 500;
/// And in full frames, where that is more.
const BURST_FRAMES: u64 = 4;
/// How many full frames may wait: as many as an interface's usual queue has.
const LIMIT_FRAMES: u32 = 1000;
/// What no link is faster than, in bits per second.
const FASTEST_BPS: u64 = 1_000_000_000_000;

/// A node's interface, from outside of its network.
pub struct Gate {
    socket: Route,
    index: u32,
    /// For messages.
    name: String,
}

/// The filter that these conditions ask for at the sender's interface, if any.
pub fn bucket(conditions: &Conditions, mtu: u32) -> Option<Bucket> {
    let rate = conditions.rate.as_ref().filter(|_| conditions.held_by_sender())?;
    let full = mtu + HEADER as u32;
    let framed = u64::from(full + rate.overhead_bytes);
    let burst = (rate.bps / 8 / BURSTS_PER_SECOND).max(BURST_FRAMES * framed);
    // A filter counts in fewer bits; what it lets through too fast waits in the link.
    Some(Bucket {
        rate_bps: rate.bps,
        overhead_bytes: u16::try_from(rate.overhead_bytes).unwrap_or(u16::MAX),
        minimum_bytes: u16::try_from(rate.minimum_bytes).unwrap_or(u16::MAX),
        burst_bytes: u32::try_from(burst).unwrap_or(u32::MAX),
        limit_bytes: full.saturating_mul(LIMIT_FRAMES),
    })
}

impl Gate {
    /// Finds a node's interface in the network of its agent, which has this pid.
    pub fn open(card: &Card, pid: i32) -> Result<Self, Failure> {
        let name = format!("{} in {}", card.on, card.r#in);
        let failed = |error: io::Error| Failure::new(format!("find the interface {name}"), error);
        // A socket stays in the network where it was opened; the thread that is there for it ends.
        let opened = thread::scope(|scope| {
            let inside = scope.spawn(|| -> io::Result<(Route, u32)> {
                namespace::join_network(&PidFd::open(pid)?)?;
                Ok((Route::open()?, namespace::interface_index(&card.on)?))
            });
            inside.join().unwrap_or_else(|_| Err(io::Error::other("a thread has ended")))
        });
        let (socket, index) = opened.map_err(failed)?;
        Ok(Self { socket, index, name })
    }

    /// Sets the filter, or changes it; frames that wait stay.
    pub fn set(&self, bucket: &Bucket) -> Result<(), Failure> {
        let mut message = bucket.of_interface(self.index);
        message.header.handle = HANDLE;
        let message = RouteNetlinkMessage::NewQueueDiscipline(message);
        Batch::one(&self.socket, format!("hold frames at {}", self.name), Verb::Replace, message)
    }

    /// Lets the sender be as fast as it is, if it was held. The filter stays, open: taking it away would
    /// lose what is sent meanwhile, for the kernel stops the interface to change its root queue.
    pub fn release(&self) -> Result<(), Failure> {
        let limit_bytes = u32::MAX;
        let burst_bytes = u32::MAX;
        let open = Bucket { rate_bps: FASTEST_BPS, burst_bytes, limit_bytes, ..Bucket::default() };
        self.waiting().map_or(Ok(()), |_| self.set(&open))
    }

    /// Frames and bytes that the filter holds; `None` if there is none.
    pub fn waiting(&self) -> Option<(usize, u64)> {
        // A kernel may leave a question for one queue unanswered (6.18 does).
        let queues = queues::read(&self.socket).ok()?;
        let ours = |queue: &&Queue| (queue.interface, queue.handle) == (self.index, HANDLE.into());
        let queue = queues.iter().find(ours)?;
        Some((queue.waiting_packets as usize, queue.waiting_bytes.into()))
    }
}
