//! Seeds for the target `pcapng`: captures as delaylab writes them, and with additions of other programs.

use super::seed::{Field, Seed};
use crate::random::Random;
use delaylab_wire::pcapng;

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
        let data = crate::seeds::packet::seed(random).bytes;
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
