//! The features of the running kernel that links can use, found by trying.

use delaylab_os::clsact::{Chances, LossProgram, Queue};
use delaylab_os::netlink::RouteSocket;
use delaylab_proto::{Context, Failure};

use super::features::{Feature, Support};
use super::message;
use super::qdisc::{self, Qdisc};
use super::setup::{Netem, RateQueue, Setup, Shape};
use crate::network::batch::{Batch, Verb};
use crate::network::redirect::{Hook, leaving, redirect};
use crate::network::trial::in_new_network;

/// The index of `lo`, on which qdiscs are tried.
const LOOPBACK: u32 = 1;
const ROOT: u32 = u32::MAX;

/// Return the features of this kernel. Only for single-threaded processes.
pub(crate) fn try_features() -> Result<Support, Failure> {
    in_new_network("try what the kernel's queues can do", try_here)
}

/// Return the features of this kernel, tried in the current network namespace, which is left full of remains.
pub(crate) fn try_here() -> Result<Support, Failure> {
    let socket = RouteSocket::open().context("open a netlink socket")?;
    let one = |message| Batch::one(&socket, String::new(), Verb::Create, message);
    let queue = |queue: &Qdisc| {
        one(message::queue(LOOPBACK, queue))?;
        let gone = message::remove_queue(LOOPBACK, 0, ROOT);
        Batch::one(&socket, String::new(), Verb::Change, gone)
    };
    let mut support = Support::default();
    let mut note = |feature, tried: Result<(), Failure>| {
        support.0.insert(feature, tried.err().map(|failure| failure.why));
    };
    note(Feature::Netem, queue(&netem()));
    note(Feature::Tbf, queue(&tbf()));
    note(Feature::Codel, queue(&codel()));
    note(Feature::Htb, try_htb(&socket));
    note(Feature::Ifb, one(message::ifb("ifb~", 1500)));
    note(Feature::Bridge, one(message::bridge("bridge~", 1500)));
    note(Feature::Clsact, one(message::ingress(LOOPBACK)));
    note(Feature::Mirred, one(redirect(LOOPBACK, Hook::Received, LOOPBACK)));
    let never = Chances { to_bad: 0.0, to_good: 1.0, lost_in_bad: 0.0, lost_in_good: 0.0 };
    let program =
        LossProgram::load().and_then(|mut program| program.attach("lo", Queue::Made, &never));
    note(Feature::Bpf, program.map(drop).context("load a program"));
    Ok(support)
}

fn try_htb(socket: &RouteSocket) -> Result<(), Failure> {
    Batch::one(socket, String::new(), Verb::Create, leaving(LOOPBACK))?;
    let gone = message::remove_queue(LOOPBACK, 0, ROOT);
    Batch::one(socket, String::new(), Verb::Change, gone)
}

fn codel() -> Qdisc {
    Qdisc { parent: ROOT, handle: 0x1_0000, kind: "codel", options: Vec::new() }
}

fn netem() -> Qdisc {
    let netem = Netem { delay_ns: 1000, limit: 1, ..Netem::default() };
    first(Setup { netem: Some(netem), ..Setup::default() })
}

fn tbf() -> Qdisc {
    let queue = RateQueue::Bytes(10_000);
    let shape =
        Shape { bytes_per_second: 1_000_000, overhead: 24, minimum: 84, burst: 3000, queue };
    first(Setup { shape: Some(shape), ..Setup::default() })
}

fn first(setup: Setup) -> Qdisc {
    qdisc::of(&setup).swap_remove(0)
}
