//! Programs at an interface's traffic control hooks (`tcx`, Linux 6.6 and later): stamps for a
//! fraction of what a packet socket costs. Needs `CAP_BPF` and `CAP_NET_ADMIN` outside of user namespaces.

use crate::filter::{Match, Transport};
use crate::tcx_shared::Shared;
use aya::maps::ring_buf::RingBufItem;
use aya::maps::{Array, MapData, RingBuf};
use aya::programs::links::FdLink;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
use aya::{Ebpf, EbpfLoader, Pod};
use std::io;

/// `bpf/tcx.c`, compiled; aligned as the loader wants it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/tcx.o");

/// As `struct settings` in `bpf/match.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Settings {
    magic: u32,
    probe: u32,
    first_seq: u32,
    ip: u16,
    protocol: u16,
    ident: u16,
    port: u16,
    frames: u32,
}

// SAFETY: plain integers without padding.
unsafe impl Pod for Settings {}

impl Settings {
    fn new(wanted: &Match, sender: &Sender, frames: bool) -> Self {
        let (ident, port) = match wanted.transport {
            Transport::Icmp(ident) => (ident, 0),
            Transport::Udp(port) => (sender.port, port),
        };
        let first_seq = sender.first_seq;
        let (magic, probe, ip) = (wanted.magic, wanted.probe, u16::from(wanted.ip));
        let (protocol, frames) = (wanted.protocol() as u16, u32::from(frames));
        Self { magic, probe, first_seq, ip, protocol, ident, port, frames }
    }
}

/// What the programs of a sender must know besides; a tap has the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sender {
    /// The UDP port that it sends from; 0 for ICMP.
    pub port: u16,
    /// The sequence number of its first packet.
    pub first_seq: u32,
    /// How many packets it will send.
    pub count: u32,
}

/// The programs and their maps, not yet at any interface.
#[derive(Debug)]
pub(crate) struct Programs(Ebpf);

impl Programs {
    /// Loads them for a probe's packets, with a ring of so many bytes (a power of two); `frames` says
    /// whether taps give the packets themselves.
    pub(crate) fn load(
        wanted: &Match,
        sender: &Sender,
        ring: u32,
        frames: bool,
    ) -> io::Result<Self> {
        let settings = Settings::new(wanted, sender, frames);
        let loaded = EbpfLoader::new()
            .btf(None)
            .set_global("SETTINGS", &settings, true)
            .set_max_entries("EVENTS", ring)
            .set_max_entries("SENT", sender.count.max(1))
            .load(OBJECT);
        loaded.map(Self).map_err(refused)
    }

    /// Runs programs on what comes in by an interface of this network namespace, and on what goes out.
    pub(crate) fn attach(
        &mut self,
        interface: u32,
        incoming: &str,
        outgoing: &str,
    ) -> io::Result<[FdLink; 2]> {
        // The kernel takes milliseconds to check a program: both, before the first is at work.
        for name in [incoming, outgoing] {
            self.program(name)?.load().map_err(refused)?;
        }
        let interface = nix::net::if_::if_indextoname(interface)?;
        let interface = interface.to_string_lossy();
        let mut at = |name: &str, hook| -> io::Result<FdLink> {
            // Taps stand before all others, or one that takes packets away would hide them.
            let tap = name.starts_with("tap");
            let order = if tap { LinkOrder::first() } else { LinkOrder::last() };
            let program = self.program(name)?;
            let id = program
                .attach_with_options(&interface, hook, TcAttachOptions::TcxOrder(order))
                .map_err(refused)?;
            program.take_link(id).map_err(refused)?.try_into().map_err(refused)
        };
        Ok([at(incoming, TcAttachType::Ingress)?, at(outgoing, TcAttachType::Egress)?])
    }

    fn program(&mut self, name: &str) -> io::Result<&mut SchedClassifier> {
        let program = self.0.program_mut(name).expect("the object has this program");
        program.try_into().map_err(refused)
    }

    /// The ring that the programs put packets into.
    pub(crate) fn events(&mut self) -> io::Result<RingBuf<MapData>> {
        self.0.take_map("EVENTS").expect("the object has this map").try_into().map_err(refused)
    }

    /// Memory shared with the programs: `SENT` or `ASLEEP` of `bpf/tcx.c`.
    pub(crate) fn shared(&self, name: &str) -> io::Result<Shared> {
        Shared::of(&self.0, name)
    }

    /// How many packets found the ring full, so far.
    pub(crate) fn dropped(&self) -> io::Result<u32> {
        let map = self.0.map("DROPPED").expect("the object has this map");
        let counter: Array<_, u64> = map.try_into().map_err(refused)?;
        let dropped = counter.get(&0, 0).map_err(refused)?;
        Ok(u32::try_from(dropped).unwrap_or(u32::MAX))
    }
}

/// A record in the ring, of the program that was attached.
///
/// # Panics
/// If it is not of the type's size: program and reader are of two makes.
pub(crate) fn record<'a, T: Pod>(item: &'a RingBufItem<'_>) -> &'a T {
    assert_eq!(item.len(), size_of::<T>(), "the program and its reader are of one make");
    // SAFETY: the record is as long as a T, which may hold any bytes; records in a ring are aligned to 8
    // bytes, and nothing here is aligned to more.
    unsafe { &*item.as_ptr().cast::<T>() }
}

/// An error with its causes in one line.
pub(crate) fn refused<E: std::error::Error>(error: E) -> io::Error {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    io::Error::other(text)
}
