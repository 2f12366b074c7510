//! A program that drops a share of an interface's received frames (`bpf/loss.c`).

use std::io;
use std::os::fd::AsFd;

use aya::maps::{Array, IterableMap};
use aya::programs::links::FdLink;
use aya::programs::{LinkOrder, TcAttachType};
use aya::{Ebpf, EbpfLoader};

use super::attach::{attach, program};
use crate::bpf::load_error::refused;
use crate::bpf::shared_array::SharedArray;

/// The compiled `bpf/loss.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/loss.o");

/// The number of words in `struct loss` in `bpf/loss.c`, and the places of its counters.
const WORDS: usize = 7;
const SEEN: u32 = 5;
const LOST: u32 = 6;

/// The attached program, which is detached on drop.
#[derive(Debug)]
pub struct TcxLoss {
    _program: Ebpf,
    _link: FdLink,
    shared: SharedArray,
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

impl TcxLoss {
    /// Start to drop frames, behind packet sockets and the programs of taps. Needs `CAP_BPF` and
    /// `CAP_NET_ADMIN` outside of user namespaces, and Linux 6.6. Fails with the loader's text without them.
    pub fn open(interface: &str, chances: &Chances) -> io::Result<Self> {
        let mut object = EbpfLoader::new().btf(None).load(OBJECT).map_err(refused)?;
        let map = object.map("LOSS").expect("the object has this map");
        let map: Array<_, [u64; WORDS]> = map.try_into().map_err(refused)?;
        let shared = SharedArray::map(map.map().fd().as_fd(), WORDS)?;
        let program = program(&mut object, "lose")?;
        program.load().map_err(refused)?;
        set(&shared, chances);
        let link = attach(program, interface, TcAttachType::Ingress, LinkOrder::last())?;
        Ok(Self { _program: object, _link: link, shared })
    }

    /// Change the probabilities; the state stays.
    pub fn set(&self, chances: &Chances) {
        set(&self.shared, chances);
    }

    /// Return the counters since the program was attached.
    pub fn counters(&self) -> LossCounters {
        LossCounters { seen: self.shared.get(SEEN), lost: self.shared.get(LOST) }
    }
}

/// Write the probabilities in the units of `struct loss`: 2^-32.
fn set(shared: &SharedArray, chances: &Chances) {
    let Chances { to_bad, to_good, lost_in_bad, lost_in_good } = *chances;
    for (place, chance) in (0..).zip([to_bad, to_good, lost_in_bad, lost_in_good]) {
        shared.set(place, (chance * (1u64 << 32) as f64).round() as u64);
    }
}
