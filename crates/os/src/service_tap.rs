//! A tap at the sockets of a service (`bpf/socket.c`): its packets between the network stack and the sockets. It sees
//! all sockets below its control group, in any network namespace.

use std::time::Duration;
use std::{fmt, io};

use aya::maps::{Array, MapData, RingBuf};
use aya::programs::cgroup_skb::CgroupSkbLink;
use aya::programs::{CgroupAttachMode, CgroupSkb};
use aya::{Ebpf, EbpfLoader, Pod};

use crate::bpf::{record, refused};
use crate::clock::{self, Realtime};
use crate::files::mount::detached_groups;
use crate::ring::Captured;
use crate::socket::filter::Match;

/// The longest time between two reads of the ring: nothing wakes the reader.
pub const LOOK: Duration = Duration::from_millis(10);
/// The compiled `bpf/socket.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/socket.o");
/// The size in bytes of the ring: room for 100 000 packets.
const RING: u32 = 16 << 20;
/// The maximum number of bytes kept of a packet: `SNAP` in `bpf/socket.c`.
const SNAP: usize = 128;
/// The programs: for requests, and for answers.
const PROGRAMS: [&str; 2] = ["arrives", "leaves"];

/// The layout of `struct settings` in `bpf/socket.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Settings {
    namespace: u64,
    port: u16,
    ip: u16,
    protocol: u16,
    reserved: u16,
}

/// The layout of `struct whole` in `bpf/socket.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Whole {
    time_ns: u64,
    length: u32,
    original: u32,
    outgoing: u32,
    reserved: u32,
    data: [u8; SNAP],
}

// SAFETY: plain integers without padding.
unsafe impl Pod for Settings {}
// SAFETY: plain integers without padding.
unsafe impl Pod for Whole {}

/// A tap at the sockets of one port. It sees requests once they have passed the network stack, and answers before
/// they enter it.
pub struct ServiceTap {
    object: Ebpf,
    events: RingBuf<MapData>,
    /// The attached programs; empty while the tap is off.
    links: Vec<CgroupSkbLink>,
}

impl ServiceTap {
    /// Start to capture the packets of the service at a port. `namespace` is the cookie of its network namespace
    /// ([`crate::socket::namespace_cookie`]); 0 stands for any.
    ///
    /// This needs `CAP_SYS_ADMIN` outside of user namespaces, and a kernel with BPF programs at control groups of
    /// version 2 (`CONFIG_CGROUP_BPF`). It fails with the loader's text where the kernel lets no programs in.
    ///
    /// Before Linux 6.15 a program cannot ask for the namespace. The tap then sees services of all namespaces at the
    /// port; the reader knows its packets by the sender's ports.
    pub fn open(wanted: &Match, port: u16, namespace: u64) -> io::Result<Self> {
        let (ip, protocol) = (u16::from(wanted.ip), wanted.protocol() as u16);
        let settings = Settings { namespace, port, ip, protocol, reserved: 0 };
        let anywhere = Settings { namespace: 0, ..settings };
        let mut object = loaded(settings).or_else(|_| loaded(anywhere))?;
        let events = object.take_map("EVENTS").expect("the object has this map");
        let events = events.try_into().map_err(refused)?;
        let mut tap = Self { object, events, links: Vec::new() };
        tap.turn_on()?;
        Ok(tap)
    }

    /// Take the programs off, where they then cost nothing; they stay loaded.
    pub fn turn_off(&mut self) {
        self.links.clear();
    }

    /// Put the programs back.
    pub fn turn_on(&mut self) -> io::Result<()> {
        let groups = detached_groups()?;
        for name in PROGRAMS {
            let program = program(&mut self.object, name)?;
            let hook = program.expected_attach_type().expect("the section names the hook");
            // A link lets other programs be there, too, without a flag.
            let link = program.attach(&groups, hook, CgroupAttachMode::Single).map_err(refused)?;
            self.links.push(program.take_link(link).map_err(refused)?);
        }
        Ok(())
    }

    /// Pass every packet in the ring to `take` and return the number of packets.
    pub fn drain(&mut self, mut take: impl FnMut(Captured<'_>)) -> io::Result<usize> {
        let tai_ahead_ns = clock::tai_ahead_ns()?;
        let mut packets = 0;
        while let Some(item) = self.events.next() {
            let whole: &Whole = record(&item);
            take(Captured {
                data: &whole.data[..(whole.length as usize).min(SNAP)],
                original: whole.original,
                time: Realtime::from_ns(whole.time_ns as i64 - tai_ahead_ns),
                outgoing: whole.outgoing != 0,
                interface: 0,
            });
            packets += 1;
        }
        Ok(packets)
    }

    /// Return how many packets found the ring full so far.
    pub fn dropped(&self) -> io::Result<u32> {
        let map = self.object.map("DROPPED").expect("the object has this map");
        let counter: Array<_, u64> = map.try_into().map_err(refused)?;
        let dropped = counter.get(&0, 0).map_err(refused)?;
        Ok(u32::try_from(dropped).unwrap_or(u32::MAX))
    }
}

impl fmt::Debug for ServiceTap {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "ServiceTap, on: {}", !self.links.is_empty())
    }
}

/// Load the programs.
fn loaded(settings: Settings) -> io::Result<Ebpf> {
    let mut loader = EbpfLoader::new();
    loader.btf(None).set_global("SETTINGS", &settings, true).set_max_entries("EVENTS", RING);
    let mut object = loader.load(OBJECT).map_err(refused)?;
    for name in PROGRAMS {
        program(&mut object, name)?.load().map_err(refused)?;
    }
    Ok(object)
}

/// Return a program of the object.
fn program<'a>(object: &'a mut Ebpf, name: &str) -> io::Result<&'a mut CgroupSkb> {
    let program = object.program_mut(name).expect("the object has this program");
    program.try_into().map_err(refused)
}
