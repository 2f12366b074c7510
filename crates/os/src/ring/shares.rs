//! A socket filter that divides a ring among the interfaces that fill it (`bpf/share.c`), so that none of
//! them takes all of it.

use std::io;
use std::os::fd::BorrowedFd;

use aya::{EbpfLoader, Pod};

use crate::bpf::{SharedArray, refused};
use crate::socket::filter;

/// The compiled `bpf/share.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/share.o");
/// The divisor of the free slots: an interface may use 1/`PARTS` of what is free. One interface that floods
/// then has a fifth of the ring and leaves four; two have a sixth each.
const PARTS: u32 = 4;
/// Slots held back from the ring's capacity. CPUs that admit a frame at the same time do not see each
/// other's, and a frame that found the ring full would be counted as in it for ever.
const RESERVE: usize = 64;
/// The map index of the total over all interfaces.
const ALL: u32 = 0;

/// The layout of `SETTINGS` in `bpf/share.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Settings {
    frames: u32,
    parts: u32,
}

// SAFETY: plain integers without padding.
unsafe impl Pod for Settings {}

/// The program at a socket, attached as long as the socket is open.
#[derive(Debug)]
pub struct RingShares {
    taken: SharedArray,
    refused: SharedArray,
}

impl RingShares {
    /// Admit frames of these interfaces, and no others, to the socket's ring of `frames` slots, which must be
    /// empty. Needs `CAP_BPF` outside of user namespaces. Fails with the loader's text where the kernel lets
    /// no programs in.
    pub fn attach(socket: BorrowedFd<'_>, interfaces: &[u32], frames: usize) -> io::Result<Self> {
        let room = u32::try_from(frames.saturating_sub(RESERVE)).unwrap_or(u32::MAX);
        let settings = Settings { frames: room, parts: PARTS };
        let places = interfaces.iter().max().map_or(0, |&most| most) + 1;
        let mut loader = EbpfLoader::new();
        loader.btf(None).set_global("SETTINGS", &settings, true);
        for map in ["PORTS", "ENTERED", "TAKEN", "REFUSED"] {
            loader.set_max_entries(map, places);
        }
        let mut object = loader.load(OBJECT).map_err(refused)?;
        let ports = SharedArray::of(&object, "PORTS")?;
        interfaces.iter().for_each(|&interface| ports.set(interface, 1));
        let (taken, refused) =
            (SharedArray::of(&object, "TAKEN")?, SharedArray::of(&object, "REFUSED")?);
        filter::attach_program(socket, &mut object, "share")?;
        Ok(Self { taken, refused })
    }

    /// Count one frame of each of these interfaces as taken out of the ring.
    pub fn give_back(&self, interfaces: &[u32]) {
        for &interface in interfaces {
            self.taken.set(interface, self.taken.get(interface) + 1);
        }
        self.taken.set(ALL, self.taken.get(ALL) + interfaces.len() as u64);
    }

    /// Return how many frames of an interface were refused so far because they exceeded its share of the
    /// ring.
    #[must_use]
    pub fn refused(&self, interface: u32) -> u64 {
        self.refused.get(interface)
    }
}
