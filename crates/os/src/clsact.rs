//! Programs that are filters of an interface's `clsact` queue (tc-bpf(8), Linux 4.5 and later). The kernel runs
//! them on received frames, behind packet sockets and all `tcx` programs. They need `CAP_BPF` and
//! `CAP_NET_ADMIN` outside of user namespaces.
//!
//! A `tcx` program could do the same. But the kernel waits for a grace period of RCU when it attaches or detaches
//! one, about 13 ms for each interface (kernel/bpf/tcx.c, `tcx_entry_sync`), and a host may have thousands. A
//! filter takes less than 1 ms.

pub mod lan;

use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;

use aya::maps::{Array, IterableMap};
use aya::programs::tc::{
    NlOptions, SchedClassifierLink, SchedClassifierLinkId, TcAttachOptions, qdisc_add_clsact,
};
use aya::programs::{SchedClassifier, TcAttachType};
use aya::{Ebpf, EbpfLoader};

use crate::bpf::{SharedArray, classifier, refused};
use crate::interface::{highest_index, interface_index};

/// The first filter of a queue.
const FIRST: NlOptions = NlOptions { priority: 1, handle: 1 };

/// The state of an interface's `clsact` queue before a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// There must be none. One that exists is another's, who may remove it, with all its filters.
    New,
    /// The caller has made it.
    Made,
}

/// Make a loaded program the first filter on the received frames of an interface of this network namespace. It
/// stays until the object of the program is dropped, or the interface or its `clsact` queue is removed; it
/// outlives a process that is killed. Fails with `EEXIST` if the queue must be new and is not, and if it has a
/// first filter already.
fn attach(program: &mut SchedClassifier, interface: &str, queue: Queue) -> io::Result<()> {
    if queue == Queue::New {
        qdisc_add_clsact(interface)?;
    }
    attach_to(program, interface, TcAttachType::Ingress, FIRST)?;
    Ok(())
}

/// Make a loaded program a filter of a hook of an interface's `clsact` queue.
fn attach_to(
    program: &mut SchedClassifier,
    interface: &str,
    hook: TcAttachType,
    place: NlOptions,
) -> io::Result<SchedClassifierLinkId> {
    let options = TcAttachOptions::Netlink(place);
    program.attach_with_options(interface, hook, options).map_err(refused)
}

/// Make a loaded program the first filter on the sent frames of an interface of this network namespace. It stays until
/// the result is dropped, or the interface is removed; it outlives a process that is killed. Fails with `EEXIST` if the
/// interface has a `clsact` queue.
pub(crate) fn attach_to_sent(
    program: &mut SchedClassifier,
    interface: &str,
) -> io::Result<SchedClassifierLink> {
    qdisc_add_clsact(interface)?;
    let id = attach_to(program, interface, TcAttachType::Egress, FIRST)?;
    program.take_link(id).map_err(refused)
}

/// The compiled `bpf/drop.c`, aligned as the loader needs it.
static DROP_OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/drop.o");

/// The attached program, which is detached on drop.
#[derive(Debug)]
pub struct DropAll {
    _program: Ebpf,
}

impl DropAll {
    /// Drop all received frames of these interfaces of this network namespace, behind packet sockets and the
    /// programs of taps: the rest of the kernel never sees them. Needs `CAP_BPF` and `CAP_NET_ADMIN` outside
    /// of user namespaces. Fails with the loader's text without them.
    pub fn open<'a>(interfaces: impl Iterator<Item = &'a str>) -> io::Result<Self> {
        let mut object = EbpfLoader::new().btf(None).load(DROP_OBJECT).map_err(refused)?;
        let program = classifier(&mut object, "drop_all")?;
        program.load().map_err(refused)?;
        for name in interfaces {
            attach(program, name, Queue::New)?;
        }
        Ok(Self { _program: object })
    }
}

/// The compiled `bpf/loss.c`, aligned as the loader needs it.
static LOSS_OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/loss.o");

/// The number of words in `struct loss` in `bpf/loss.c`, and the places of its counters.
const WORDS: usize = 7;
const SEEN: u32 = 5;
const LOST: u32 = 6;

/// The loaded program, which serves all interfaces of a network namespace: loading one takes milliseconds of the
/// CPU's time. It is detached from all of them on drop.
#[derive(Debug)]
pub struct LossProgram {
    program: Ebpf,
    shared: Rc<SharedArray>,
}

/// The program at one interface.
#[derive(Debug)]
pub struct InterfaceLoss {
    shared: Rc<SharedArray>,
    interface: u32,
}

/// The probabilities of the Gilbert-Elliott model. Each frame may change the state and may then be lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chances {
    /// The probability of a change from the good to the bad state.
    pub to_bad: f64,
    /// The probability of a change from the bad to the good state.
    pub to_good: f64,
    /// The probability that a frame is lost in the bad state.
    pub lost_in_bad: f64,
    /// The probability that a frame is lost in the good state.
    pub lost_in_good: f64,
}

/// The counters of an attached program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossCounters {
    /// The number of frames received.
    pub seen: u64,
    /// The number of those that were dropped.
    pub lost: u64,
}

impl LossProgram {
    /// Load the program for the interfaces that this network namespace has now. Needs `CAP_BPF` and
    /// `CAP_NET_ADMIN` outside of user namespaces. Fails with the loader's text without them.
    pub fn load() -> io::Result<Self> {
        let places = highest_index()? + 1;
        let mut loader = EbpfLoader::new();
        loader.btf(None).set_max_entries("LOSS", places);
        let mut object = loader.load(LOSS_OBJECT).map_err(refused)?;
        let map = object.map("LOSS").expect("the object has this map");
        let map: Array<_, [u64; WORDS]> = map.try_into().map_err(refused)?;
        let shared = SharedArray::map(map.map().fd().as_fd(), places as usize * WORDS)?;
        classifier(&mut object, "lose")?.load().map_err(refused)?;
        Ok(Self { program: object, shared: Rc::new(shared) })
    }

    /// Start to drop frames that an interface receives, behind packet sockets and the programs of taps. Fails
    /// with the loader's text, with `ENODEV` if there is no such interface, and with `EEXIST` if a queue that
    /// must be new is not.
    pub fn attach(
        &mut self,
        interface: &str,
        queue: Queue,
        chances: &Chances,
    ) -> io::Result<InterfaceLoss> {
        let index = interface_index(interface)?;
        let loss = InterfaceLoss { shared: Rc::clone(&self.shared), interface: index };
        loss.set(chances);
        attach(classifier(&mut self.program, "lose")?, interface, queue)?;
        Ok(loss)
    }
}

impl InterfaceLoss {
    /// Change the probabilities, which are written in units of 2^-32; the state stays.
    pub fn set(&self, chances: &Chances) {
        let Chances { to_bad, to_good, lost_in_bad, lost_in_good } = *chances;
        for (place, chance) in (0..).zip([to_bad, to_good, lost_in_bad, lost_in_good]) {
            self.shared.set(self.place(place), (chance * (1u64 << 32) as f64).round() as u64);
        }
    }

    /// Return the counters since the program was attached.
    #[must_use]
    pub fn counters(&self) -> LossCounters {
        let [seen, lost] = [SEEN, LOST].map(|place| self.shared.get(self.place(place)));
        LossCounters { seen, lost }
    }

    /// Return the place of a word of this interface's `struct loss`.
    fn place(&self, word: u32) -> u32 {
        self.interface * WORDS as u32 + word
    }
}
