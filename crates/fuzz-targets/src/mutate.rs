//! Mutations, which turn a good input into a damaged, cut or hostile one.

/// Values at which parsers behave differently: sizes of headers, limits of integers.
const BOUNDARIES: [u32; 32] = [
    0,
    1,
    2,
    3,
    4,
    6,
    7,
    8,
    11,
    12,
    16,
    19,
    20,
    24,
    28,
    31,
    32,
    39,
    40,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xfffc,
    0xffff,
    64 << 20,
    (64 << 20) + 1,
    0x7fff_ffff,
    0xffff_fffc,
    u32::MAX,
];
/// Bytes with a meaning in headers: versions, protocols, types of tags and extensions.
const TELLING: [u8; 14] = [0x45, 0x4f, 0x60, 17, 58, 43, 44, 51, 60, 0x81, 0x88, 0x20, b'"', b'}'];
/// The percentage of mutations that hit the first bytes, where headers are.
const NEAR: usize = 70;
const HEADERS: usize = 96;

/// The possible numbers of mutations of one input. Most are small, or hardly any input would get past the
/// headers.
const COUNTS: [usize; 6] = [1, 1, 1, 2, 2, 4];

/// Change `seed` by one to four mutations, some of which take a part of `other`.
pub fn mutate(random: &mut Random, seed: Seed, other: &[u8]) -> Vec<u8> {
    let Seed { mut bytes, lengths, .. } = seed;
    for _ in 0..random.pick(&COUNTS) {
        once(random, &mut bytes, &lengths, other);
    }
    bytes
}

fn once(random: &mut Random, bytes: &mut Vec<u8>, lengths: &[Field], other: &[u8]) {
    let at = place(random, bytes.len());
    match random.below(9) {
        0 | 1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        2 if at < bytes.len() => bytes[at] = random.pick(&TELLING),
        3 => overwrite(random, bytes, at),
        4 => {
            let count = 1 + random.below(16);
            let more = random.bytes(count);
            bytes.splice(at..at, more);
        }
        5 => {
            let end = (at + 1 + random.below(16)).min(bytes.len());
            bytes.drain(at..end);
        }
        6 => {
            bytes.truncate(at);
            bytes.extend_from_slice(&other[place(random, other.len())..]);
        }
        7 => {
            let end = random.below(bytes.len() + 1);
            bytes.truncate(end);
        }
        _ if !lengths.is_empty() => {
            let field = random.pick(lengths);
            length(random, bytes, field);
        }
        _ => {}
    }
}

/// Return a place in `length` bytes, their end included.
fn place(random: &mut Random, length: usize) -> usize {
    let end = if random.chance(NEAR) { length.min(HEADERS) } else { length };
    random.below(end + 1)
}

fn overwrite(random: &mut Random, bytes: &mut [u8], at: usize) {
    let value = random.pick(&BOUNDARIES);
    let field = Field { at, width: random.pick(&[1, 2, 4]), big_endian: random.chance(50) };
    field.set(bytes, value);
}

/// Falsify a length field: by a little, by the bytes that are left, or to a boundary value.
fn length(random: &mut Random, bytes: &mut [u8], field: Field) {
    let Some(value) = field.get(bytes) else { return };
    let rest = bytes.len().saturating_sub(field.at + field.width) as u32;
    let value = match random.below(4) {
        0 => value.wrapping_add(random.pick(&[1, 4, 8])),
        1 => value.wrapping_sub(random.pick(&[1, 4, 8])),
        2 => rest.wrapping_add(random.pick(&[0, 1, u32::MAX])),
        _ => random.pick(&BOUNDARIES),
    };
    field.set(bytes, value);
}

/// A length field of an input.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The offset of its first byte.
    pub at: usize,
    /// Its size in bytes: 1, 2 or 4.
    pub width: usize,
    /// True if the most significant byte comes first.
    pub big_endian: bool,
}

impl Field {
    /// Return its value; `None` if the input ends before it.
    pub fn get(&self, bytes: &[u8]) -> Option<u32> {
        let field = bytes.get(self.at..self.at + self.width)?;
        let add = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
        Some(match self.big_endian {
            true => field.iter().fold(0, add),
            false => field.iter().rev().fold(0, add),
        })
    }

    /// Write the low bytes of `value`, as far as the input reaches.
    pub fn set(&self, bytes: &mut [u8], value: u32) {
        let value = value.to_be_bytes();
        let mut value = value[4 - self.width..].to_vec();
        if !self.big_endian {
            value.reverse();
        }
        for (byte, new) in bytes.iter_mut().skip(self.at).zip(value) {
            *byte = new;
        }
    }
}

/// One input before it is mutated.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The input.
    pub bytes: Vec<u8>,
    /// The length fields in it.
    pub lengths: Vec<Field>,
    /// True if the target must accept it unchanged, false if it must reject it.
    pub good: bool,
}

/// A SplitMix64 generator: adjacent seeds give unrelated numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Build a generator whose numbers follow from `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Return the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Return a number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Return true in `percent` of 100 calls.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Return one of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Return `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count + 8);
        while bytes.len() < count {
            bytes.extend_from_slice(&self.bits().to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
