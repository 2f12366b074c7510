//! Target `pcapng`: any bytes are blocks of a capture, up to an error.

use delaylab_wire::pcapng::{self, Block, NotPcapng, Reader, interface, packet, section_header};

use crate::mutate::{Field, Random, Seed};
use crate::{Outcome, inside};

/// The length of the smallest block, in bytes.
const SMALLEST: usize = 12;
/// The code of delaylab's own time resolution, which is ns.
const NANOSECONDS: u8 = 9;
const ETHERNET: u16 = 1;

/// Read a capture. Accept it if it consists of blocks to its last byte.
pub fn run(bytes: &[u8]) -> Outcome {
    let mut reader = Reader::new(bytes);
    let mut copy = Vec::new();
    let mut blocks = Vec::new();
    let mut end = 0;
    while let Some(next) = reader.next() {
        let before = end;
        end = bytes.len() - reader.unread().len();
        let block = match next {
            Ok(block) => block,
            Err(error) => {
                assert_eq!(end, before, "what is refused was taken");
                assert_eq!(reader.next(), None, "something behind the error");
                return Err(refused(bytes, before, error));
            }
        };
        assert!(end - before >= SMALLEST && (end - before).is_multiple_of(4), "no whole block");
        covered(&block, &bytes[before..end]);
        if write(&block, &mut copy, &bytes[before..end]) {
            blocks.push(block);
        }
    }
    assert_eq!(end, bytes.len(), "an end before the input's");
    let same: Result<Vec<_>, _> = Reader::new(&copy).collect();
    assert_eq!(same.as_ref(), Ok(&blocks), "written otherwise than read");
    if bytes.is_empty() { Err("no bytes".into()) } else { Ok(()) }
}

/// Assert that everything read from `whole` lies in it.
fn covered(block: &Block<'_>, whole: &[u8]) {
    let end = whole.len() - 4;
    match *block {
        Block::Section | Block::Interface { name: "", .. } => {}
        Block::Interface { name, .. } => inside(name.as_bytes(), whole, end),
        Block::Packet { data, .. } => inside(data, whole, end),
        Block::Other { body, .. } => {
            inside(body, whole, end);
            assert_eq!(body.len() + SMALLEST, whole.len());
        }
    }
}

/// Write a block again; return false for blocks that delaylab never writes. Panic if a packet's bytes differ.
fn write(block: &Block<'_>, copy: &mut Vec<u8>, whole: &[u8]) -> bool {
    let start = copy.len();
    match *block {
        Block::Section => section_header(copy),
        Block::Interface { name, link_type: ETHERNET, snap, resolution: NANOSECONDS } => {
            interface(copy, name, snap);
        }
        Block::Interface { .. } => {
            // Interfaces are numbered, so one of another kind must not be left out.
            copy.extend_from_slice(whole);
        }
        Block::Packet { interface, time, data, original } => {
            packet(copy, interface, time, data, original);
            let written = &mut copy[start..];
            // Options and padding that is not zero are not written.
            if written.len() == whole.len() {
                let padding = 28 + data.len()..whole.len() - 4;
                let mut whole = whole.to_vec();
                whole[padding].fill(0);
                assert_eq!(written, whole, "a packet written otherwise than read");
            }
        }
        Block::Other { .. } => return false,
    }
    true
}

/// Assert that the error fits the bytes, and return it as a reason.
fn refused(bytes: &[u8], at: usize, error: NotPcapng) -> String {
    let rest = &bytes[at..];
    if error == NotPcapng::Truncated("block") && rest.len() >= SMALLEST {
        let length = u32::from_le_bytes([rest[4], rest[5], rest[6], rest[7]]);
        assert!(length as usize > rest.len(), "the block is there");
    }
    error.to_string()
}

/// Generate a capture of up to two sections. One in eight must be rejected: it is big-endian, or has a packet
/// of an interface that it does not describe.
pub fn seed(random: &mut Random) -> Seed {
    let mut capture = Capture::default();
    let good = random.below(8) != 0;
    for _ in 0..1 + random.below(2) {
        let interfaces = 1 + random.below(3);
        capture.section(random);
        for _ in 0..interfaces {
            capture.interface(random);
        }
        for _ in 0..random.below(4) {
            let interface = random.below(interfaces) as u32;
            capture.packet(random, interface);
        }
        if random.chance(25) {
            // Interface statistics, name resolution, or a custom block.
            let (kind, words) = (random.pick(&[5, 4, 0x0bad_0bad]), random.below(5));
            let body = random.bytes(4 * words);
            capture.block(kind, &body);
        }
    }
    match good {
        true => {}
        false if random.chance(50) => capture.bytes[8..12].reverse(),
        false => capture.packet(random, 9),
    }
    Seed { bytes: capture.bytes, lengths: capture.lengths, good }
}

#[derive(Default)]
struct Capture {
    bytes: Vec<u8>,
    lengths: Vec<Field>,
}

impl Capture {
    /// Record a length field at `at`.
    fn length(&mut self, at: usize, width: usize) {
        self.lengths.push(Field { at, width, big_endian: false });
    }

    fn section(&mut self, random: &mut Random) {
        if random.chance(75) {
            self.length(self.bytes.len() + 4, 4);
            pcapng::section_header(&mut self.bytes);
            return;
        }
        let mut body = b"\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff".to_vec();
        // The option that names the program which wrote it.
        body.extend_from_slice(b"\x04\0\x06\0editor\0\0\0\0\0\0");
        self.block(0x0a0d_0d0a, &body);
    }

    fn interface(&mut self, random: &mut Random) {
        let start = self.bytes.len();
        if random.chance(75) {
            let name = random.pick(&["", "wire", "sender.uplink", "responder.µ"]);
            let snap = random.pick(&[0, 64, 262_144, u32::MAX]);
            pcapng::interface(&mut self.bytes, name, snap);
            self.length(start + 4, 4);
        } else {
            // No name, times in µs, a speed, and no end of options.
            self.block(1, b"\x01\0\0\0\0\0\x04\0\x08\0\x08\0\0\xe4\x0b\x54\x02\0\0\0");
        }
        self.length(start + 18, 2);
    }

    fn packet(&mut self, random: &mut Random, interface: u32) {
        let start = self.bytes.len();
        let data = crate::packet::seed(random).bytes;
        if random.chance(75) {
            let (time, original) = (random.bits(), data.len() as u32);
            pcapng::packet(&mut self.bytes, interface, time, &data, original);
            self.length(start + 4, 4);
        } else {
            let mut body =
                [interface, 1, 2, data.len() as u32, 9000].map(u32::to_le_bytes).concat();
            body.extend_from_slice(&data);
            body.resize(body.len().next_multiple_of(4), 0);
            // Flags, then the end of options.
            body.extend_from_slice(b"\x02\0\x04\0\x01\0\0\0\0\0\0\0");
            self.block(6, &body);
        }
        self.length(start + 20, 4);
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        self.length(self.bytes.len() + 4, 4);
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.bytes.extend_from_slice(&kind.to_le_bytes());
        self.bytes.extend_from_slice(&length);
        self.bytes.extend_from_slice(body);
        self.bytes.extend_from_slice(&length);
    }
}
