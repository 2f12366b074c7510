//! A trial of the kernel's features, in a network namespace of its own that ends with the trial.

use std::fs::File;
use std::io::{self, Read, Write};

use delaylab_os::netlink::Route;
use delaylab_os::process::{self, Side};
use delaylab_os::tcx_loss::{Chances, TcxLoss};
use delaylab_os::{namespace, pipe};
use delaylab_proto::Failure;

use super::can::{Can, Part};
use super::message;
use super::qdisc::{self, Qdisc};
use super::want::{Netem, Room, Shape, Want};
use crate::network::batch::{Batch, Verb};

/// The index of `lo`, on which qdiscs are tried.
const LOOPBACK: u32 = 1;
const ROOT: u32 = u32::MAX;

/// Return the features of this kernel. Only for single-threaded processes.
pub fn probe() -> Result<Can, Failure> {
    let failed = |error: io::Error| Failure::new("try what the kernel's queues can do", error);
    let (user, group) = namespace::user();
    let mut namespaces = process::Namespaces::CLONE_NEWNET;
    namespaces.set(process::Namespaces::CLONE_NEWUSER, user != 0);
    let (answer, told) = pipe::pair().map_err(failed)?;
    let pid = match process::clone(namespaces).map_err(failed)? {
        Side::Parent(pid) => pid,
        Side::Child => {
            let rooted = user == 0 || namespace::map_to_root(user, group).is_ok();
            let can = if rooted { tried() } else { Ok(Can::default()) };
            let bytes = can.ok().and_then(|can| serde_json::to_vec(&can).ok());
            let written = bytes.is_some_and(|bytes| File::from(told).write_all(&bytes).is_ok());
            std::process::exit(i32::from(!written));
        }
    };
    drop(told);
    let mut bytes = Vec::new();
    let read = File::from(answer).read_to_end(&mut bytes);
    process::wait(pid);
    read.map_err(failed)?;
    serde_json::from_slice(&bytes)
        .map_err(|_| failed(io::Error::other("no new network namespace can be used")))
}

fn tried() -> Result<Can, Failure> {
    let socket = Route::open().map_err(|error| Failure::new("open a netlink socket", error))?;
    let one = |message| Batch::one(&socket, String::new(), Verb::Create, message);
    let queue = |queue: &Qdisc| {
        one(message::queue(LOOPBACK, queue))?;
        let gone = message::remove_queue(LOOPBACK, 0, ROOT);
        Batch::one(&socket, String::new(), Verb::Change, gone)
    };
    let mut can = Can::default();
    let mut note = |part, tried: Result<(), Failure>| {
        can.0.insert(part, tried.err().map(|failure| failure.why));
    };
    note(Part::Netem, queue(&netem()));
    note(Part::Tbf, queue(&tbf()));
    note(Part::Codel, queue(&codel()));
    note(Part::Ifb, one(message::ifb("ifb~", 1500)));
    note(Part::Bridge, one(message::bridge("bridge~", 1500)));
    note(Part::Clsact, one(message::ingress(LOOPBACK)));
    note(Part::Mirred, one(message::redirect(LOOPBACK, LOOPBACK)));
    let never = Chances { to_bad: 0.0, to_good: 1.0, lost_in_bad: 0.0, lost_in_good: 0.0 };
    let program = TcxLoss::open("lo", &never).map(drop);
    note(Part::Tcx, program.map_err(|error| Failure::new("load a program", error)));
    Ok(can)
}

fn codel() -> Qdisc {
    Qdisc { parent: ROOT, handle: 0x1_0000, kind: "codel", options: Vec::new() }
}

fn netem() -> Qdisc {
    let netem = Netem { delay_ns: 1000, limit: 1, ..Netem::default() };
    first(Want { netem: Some(netem), ..Want::default() })
}

fn tbf() -> Qdisc {
    let room = Room::Bytes(10_000);
    let shape = Shape { bytes_per_second: 1_000_000, overhead: 24, minimum: 84, burst: 3000, room };
    first(Want { shape: Some(shape), ..Want::default() })
}

fn first(want: Want) -> Qdisc {
    qdisc::of(&want).swap_remove(0)
}
