//! Programs at an interface's traffic control hooks (`tcx`, Linux 6.6 and later), which run in the kernel for
//! each of its packets. They need `CAP_BPF` and `CAP_NET_ADMIN` outside of user namespaces.

pub mod gate;
pub mod sender;
pub mod tap;

use std::io;
use std::net::IpAddr;

use aya::maps::{Array, MapData, RingBuf};
use aya::programs::links::FdLink;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
use aya::{Ebpf, EbpfLoader, Pod};

use crate::bpf::{SharedArray, classifier, refused};
use crate::socket::filter::{Match, Transport};

/// The compiled `bpf/tcx.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/tcx.o");

/// The layout of `struct settings` in `bpf/match.h`.
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
    responder: [u8; 16],
}

// SAFETY: plain integers without padding.
unsafe impl Pod for Settings {}

impl Settings {
    /// Return the settings. Fail for TCP, whose packets these programs do not recognize.
    fn new(wanted: &Match, sender: &SenderSettings, frames: bool) -> io::Result<Self> {
        let (ident, port) = match wanted.transport {
            Transport::Icmp(ident) => (ident, 0),
            Transport::Udp(port) => (sender.port, port),
            Transport::Tcp(_) | Transport::TcpData(_) | Transport::Datagrams(_) => {
                return Err(io::ErrorKind::Unsupported.into());
            }
        };
        let first_seq = sender.first_seq;
        let (magic, probe, ip) = (wanted.magic, wanted.probe, u16::from(wanted.ip));
        let (protocol, frames) = (wanted.protocol() as u16, u32::from(frames));
        let responder = sender.responder.map_or([0; 16], in_16_bytes);
        Ok(Self { magic, probe, first_seq, ip, protocol, ident, port, frames, responder })
    }
}

/// The settings of a sender's programs beyond those of a tap, which uses the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderSettings {
    /// The UDP source port; 0 for ICMP.
    pub port: u16,
    /// The sequence number of the first packet.
    pub first_seq: u32,
    /// The number of packets that the sender will send.
    pub count: u32,
    /// The address whose replies are taken.
    pub responder: Option<IpAddr>,
}

/// Return an address as the programs compare it: of IPv4 the first four bytes count.
fn in_16_bytes(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&v4.octets());
            bytes
        }
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// The programs and their maps, not yet attached to an interface.
#[derive(Debug)]
pub(super) struct Programs(Ebpf);

impl Programs {
    /// Load the programs for a probe's packets, with a ring of `ring` bytes (a power of two). With `frames`
    /// taps return the packets themselves.
    pub(super) fn load(
        wanted: &Match,
        sender: &SenderSettings,
        ring: u32,
        frames: bool,
    ) -> io::Result<Self> {
        let settings = Settings::new(wanted, sender, frames)?;
        let loaded = EbpfLoader::new()
            .btf(None)
            .set_global("SETTINGS", &settings, true)
            .set_max_entries("EVENTS", ring)
            .set_max_entries("SENT", sender.count.max(1))
            .load(OBJECT);
        loaded.map(Self).map_err(refused)
    }

    /// Attach programs to the ingress and egress hooks of an interface of this network namespace.
    pub(super) fn attach(
        &mut self,
        interface: u32,
        incoming: &str,
        outgoing: &str,
    ) -> io::Result<[FdLink; 2]> {
        // The kernel takes milliseconds to verify a program, so load both before the first one runs.
        for name in [incoming, outgoing] {
            let program = classifier(&mut self.0, name)?;
            // Programs that were attached before are loaded.
            if program.fd().is_err() {
                program.load().map_err(refused)?;
            }
        }
        let interface = nix::net::if_::if_indextoname(interface)?;
        let interface = interface.to_string_lossy();
        let mut at = |name: &str, hook| -> io::Result<FdLink> {
            // Taps come before all other programs, since one that takes packets away would hide them.
            let tap = name.starts_with("tap");
            let order = if tap { LinkOrder::first() } else { LinkOrder::last() };
            attach_first(classifier(&mut self.0, name)?, &interface, hook, order)
        };
        Ok([at(incoming, TcAttachType::Ingress)?, at(outgoing, TcAttachType::Egress)?])
    }

    /// Take the ring that the programs write packets to.
    pub(super) fn events(&mut self) -> io::Result<RingBuf<MapData>> {
        self.0.take_map("EVENTS").expect("the object has this map").try_into().map_err(refused)
    }

    /// Map memory shared with the programs: `SENT` or `ASLEEP` of `bpf/tcx.c`.
    pub(super) fn shared(&self, name: &str) -> io::Result<SharedArray> {
        SharedArray::of(&self.0, name)
    }

    /// Return how many packets found the ring full so far.
    pub(super) fn dropped(&self) -> io::Result<u32> {
        let map = self.0.map("DROPPED").expect("the object has this map");
        let counter: Array<_, u64> = map.try_into().map_err(refused)?;
        let dropped = counter.get(&0, 0).map_err(refused)?;
        Ok(u32::try_from(dropped).unwrap_or(u32::MAX))
    }
}

/// Attach a loaded program to a hook of an interface of this network namespace, until the result is dropped.
/// `order` is its place among the hook's programs.
fn attach_first(
    program: &mut SchedClassifier,
    interface: &str,
    hook: TcAttachType,
    order: LinkOrder,
) -> io::Result<FdLink> {
    let options = TcAttachOptions::TcxOrder(order);
    let id = program.attach_with_options(interface, hook, options).map_err(refused)?;
    program.take_link(id).map_err(refused)?.try_into().map_err(refused)
}
