//! A socket filter that counts a generator's frames and those that came out of order (`bpf/order.c`).

use std::io;
use std::os::fd::BorrowedFd;

use aya::EbpfLoader;

use super::filter;
use crate::bpf::{SharedArray, refused};

/// The compiled `bpf/order.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/order.o");
const MAPS: [&str; 3] = ["NEXT", "RECEIVED", "REORDERED"];

/// The counters of one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameCounts {
    /// The number of frames received.
    pub received: u64,
    /// The number of those that came after a frame with a larger number (RFC 4737, section 3).
    pub reordered: u64,
}

/// The program at a UDP socket, attached as long as the socket is open. The socket receives nothing.
#[derive(Debug)]
pub struct OrderCounter {
    received: SharedArray,
    reordered: SharedArray,
}

impl OrderCounter {
    /// Count the frames that reach a UDP socket by these interfaces, and drop all. `magic` begins the payload
    /// of a frame that carries a probe header. Needs `CAP_BPF` outside of user namespaces. Fails with the
    /// loader's text where the kernel lets no programs in.
    pub fn attach(socket: BorrowedFd<'_>, interfaces: &[u32], magic: u32) -> io::Result<Self> {
        let places = interfaces.iter().max().map_or(0, |&most| most) + 1;
        let mut loader = EbpfLoader::new();
        loader.btf(None).set_global("MAGIC", &magic, true);
        for map in MAPS {
            loader.set_max_entries(map, places);
        }
        let mut object = loader.load(OBJECT).map_err(refused)?;
        let received = SharedArray::of(&object, "RECEIVED")?;
        let reordered = SharedArray::of(&object, "REORDERED")?;
        filter::attach_program(socket, &mut object, "order")?;
        Ok(Self { received, reordered })
    }

    /// Return the counters of an interface so far.
    #[must_use]
    pub fn of(&self, interface: u32) -> FrameCounts {
        FrameCounts {
            received: self.received.get(interface),
            reordered: self.reordered.get(interface),
        }
    }
}
