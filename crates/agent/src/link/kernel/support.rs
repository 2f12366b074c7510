//! The features of the running kernel that links can use, found by trying.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};

use delaylab_os::clsact::{Chances, LossProgram, Queue};
use delaylab_os::files::descriptor;
use delaylab_os::interface::{self, interface_index};
use delaylab_os::netlink::Route;
use delaylab_os::process::{self, Side, namespace};
use delaylab_os::socket::filter::{Match, Transport};
use delaylab_os::tcx::tap::TcxTap;
use delaylab_proto::{Context, Failure};
use serde::{Deserialize, Serialize};

use super::message;
use super::qdisc::{self, Qdisc};
use super::setup::{Netem, RateQueue, Setup, Shape};
use crate::network::batch::{Batch, Verb};
use crate::network::redirect::{Hook, leaving, redirect};

/// A feature of the kernel that links may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Feature {
    /// netem: delay, jitter, loss, duplication, corruption, reordering.
    Netem,
    /// The token bucket filter, for rates.
    Tbf,
    /// CoDel, a queueing discipline that drops by delay.
    Codel,
    /// ifb, an interface that is only a queue.
    Ifb,
    /// clsact, the hook for filters on received frames.
    Clsact,
    /// A u32 filter that matches all frames, and the action mirred that redirects them.
    Mirred,
    /// The queue without classes at whose filters frames leave for the one that a host's interface shares (HTB).
    Htb,
    /// The bridge, which joins the ports of a link.
    Bridge,
    /// VXLAN, by which links cross from one machine to another.
    Vxlan,
    /// macvlan, by which they do so as plain Ethernet.
    Macvlan,
    /// Programs as filters of clsact, for loss.
    Bpf,
    /// Programs at the hooks of interfaces (tcx), for taps.
    Tcx,
}

/// The features of the kernel, each with the reason why it is unavailable, or `None` if it is available.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Support(pub BTreeMap<Feature, Option<String>>);

impl Support {
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.0.get(&feature).is_some_and(Option::is_none)
    }

    /// Check that the kernel has a feature; the error says what is missing for this condition.
    pub(crate) fn require(&self, feature: Feature, condition: &str) -> Result<(), String> {
        match self.0.get(&feature) {
            Some(None) => Ok(()),
            Some(Some(why)) => {
                Err(format!("`{condition}` needs the kernel's {}: {why}", feature.name()))
            }
            None => Err(format!("`{condition}` needs the kernel's {}", feature.name())),
        }
    }

    /// Check for the features that lead frames through a queue between reception and forwarding.
    pub(crate) fn require_redirection(&self) -> Result<(), String> {
        [Feature::Ifb, Feature::Clsact, Feature::Mirred]
            .into_iter()
            .try_for_each(|feature| self.require(feature, "engine: kernel"))
    }
}

impl Feature {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Feature::Netem => "netem",
            Feature::Tbf => "tbf",
            Feature::Codel => "codel",
            Feature::Ifb => "ifb",
            Feature::Clsact => "clsact",
            Feature::Mirred => "u32 and mirred",
            Feature::Htb => "htb",
            Feature::Vxlan => "vxlan",
            Feature::Macvlan => "macvlan",
            Feature::Bridge => "bridge",
            Feature::Bpf => "programs (BPF)",
            Feature::Tcx => "programs (tcx)",
        }
    }
}

/// The index of `lo`, on which qdiscs are tried.
const LOOPBACK: u32 = 1;
const ROOT: u32 = u32::MAX;

/// Return the features of this kernel. Only for single-threaded processes.
pub(crate) fn try_features() -> Result<Support, Failure> {
    let failed = |error: io::Error| Failure::new("try what the kernel's queues can do", error);
    let (user, group) = namespace::user();
    let mut namespaces = process::Namespaces::CLONE_NEWNET;
    namespaces.set(process::Namespaces::CLONE_NEWUSER, user != 0);
    let (answer, told) = descriptor::pipe().map_err(failed)?;
    let pid = match process::clone(namespaces).map_err(failed)? {
        Side::Parent(pid) => pid,
        Side::Child => {
            let rooted = user == 0 || namespace::map_to_root(user, group).is_ok();
            let support = if rooted { try_all() } else { Ok(Support::default()) };
            let bytes = support.ok().and_then(|support| serde_json::to_vec(&support).ok());
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

fn try_all() -> Result<Support, Failure> {
    let socket = Route::open().context("open a netlink socket")?;
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
    note(Feature::Vxlan, one(message::vxlan("vxlan~")));
    let macvlan = interface_index("bridge~").context("find an interface for it");
    note(Feature::Macvlan, macvlan.and_then(|on| one(message::macvlan("macvlan~", on))));
    note(Feature::Clsact, one(message::ingress(LOOPBACK)));
    note(Feature::Mirred, one(redirect(LOOPBACK, Hook::Received, LOOPBACK)));
    let never = Chances { to_bad: 0.0, to_good: 1.0, lost_in_bad: 0.0, lost_in_good: 0.0 };
    let program =
        LossProgram::load().and_then(|mut program| program.attach("lo", Queue::Made, &never));
    note(Feature::Bpf, program.map(drop).context("load a program"));
    let echoes = Match { transport: Transport::Icmp(0), ip: 4, probe: 0, magic: 0, snap: 0 };
    // A tap refuses an interface with a queue, and one that is down has one.
    let tap = interface::set_up("lo", true).and_then(|()| TcxTap::open(LOOPBACK, &echoes, false));
    note(Feature::Tcx, tap.map(drop).context("open a tap"));
    Ok(support)
}

fn try_htb(socket: &Route) -> Result<(), Failure> {
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

/// Print as JSON what the kernel supports: each feature with null, or the reason why it is unavailable.
pub(crate) fn print_support() -> Result<(), Failure> {
    let text = serde_json::to_string(&try_features()?).context("say what the kernel can do")?;
    writeln!(io::stdout(), "{text}").context("say what the kernel can do")
}
