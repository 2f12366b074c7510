//! The writer of a log.

use crate::number::{MOST, Writer};
use crate::tables::{EMPTY, LONGEST, MOST_BLOBS, MOST_SHAPES, Shape, Tables, UNKEPT};
use crate::{Call, Entry};

/// The number that an entry begins with; a known shape has the number after the last of these.
pub(crate) const PREDICTED: u64 = 1;
pub(crate) const NEW: u64 = 2;
pub(crate) const RESET: u64 = 3;
pub(crate) const KNOWN: u64 = 4;
/// The number that a byte string begins with; one that is kept has the number after the last of these.
pub(crate) const NONE: u64 = 0;
pub(crate) const LITERAL: u64 = 1;
pub(crate) const CHANGED: u64 = 2;
pub(crate) const KEPT: u64 = 3;

/// Equal bytes that end a run of changed ones: fewer cost as much as they save.
const EQUAL: usize = 3;
/// Slots of a table by hashes: twice as many as are filled at most.
const BLOB_SLOTS: usize = 2 * MOST_BLOBS;
const SHAPE_SLOTS: usize = 2 * MOST_SHAPES;
/// Slots for the byte string that was last of its call and length.
const BASES: usize = 1 << 12;

/// Writes entries one after the other.
pub struct Encoder {
    tables: Tables,
    /// Ids by the hashes of what they are of; each plus one, 0 in an empty slot.
    blobs: Vec<u32>,
    shapes: Vec<u32>,
    bases: Vec<u32>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// Reserve all memory.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tables: Tables::new(),
            blobs: vec![0; BLOB_SLOTS],
            shapes: vec![0; SHAPE_SLOTS],
            bases: vec![0; BASES],
        }
    }

    /// Return the most bytes that an entry takes.
    #[must_use]
    pub fn most(entry: &Entry<'_>) -> usize {
        12 * MOST + entry.given.len() + entry.got.len()
    }

    /// Write an entry, and return its length. `into` has room for [`Encoder::most`] bytes.
    pub fn encode(&mut self, entry: &Entry<'_>, into: &mut [u8]) -> usize {
        let mut out = Writer { bytes: into, at: 0, full: false };
        if !self.tables.has_room(entry.given.len() + entry.got.len()) {
            out.number(RESET);
            self.tables.reset();
            self.blobs.fill(0);
            self.shapes.fill(0);
            self.bases.fill(0);
        }
        self.shape(entry, &mut out);
        if entry.call.is_timed() {
            let last = self.tables.time(entry.fd);
            out.number(packed(entry.time.wrapping_sub(*last)));
            *last = entry.time;
        }
        debug_assert!(!out.full);
        out.at
    }

    fn shape(&mut self, entry: &Entry<'_>, out: &mut Writer<'_>) {
        let (given, got) = (self.find(entry.given), self.find(entry.got));
        if let (Some(given), Some(got)) = (given, got) {
            let shape = shape_of(entry, given, got);
            let slot = self.shape_slot(&shape);
            if let Some(id) = self.shapes[slot].checked_sub(1) {
                let as_predicted = self.tables.predicted() == Some(id);
                out.number(if as_predicted { PREDICTED } else { KNOWN + u64::from(id) });
                return self.tables.follow(Some(id));
            }
        }
        out.number(NEW);
        out.number(u64::from(entry.thread));
        out.number(entry.call as u64);
        out.signed(i64::from(entry.fd));
        out.signed(entry.result);
        let given = self.blob(entry.call, 0, entry.given, out);
        let got = self.blob(entry.call, 1, entry.got, out);
        let shape = shape_of(entry, given, got);
        let id = shape.is_kept().then(|| {
            let id = self.tables.keep_shape(shape);
            let slot = self.shape_slot(&shape);
            self.shapes[slot] = id + 1;
            id
        });
        self.tables.follow(id);
    }

    /// Return the id of a kept byte string.
    fn find(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.is_empty() {
            return Some(EMPTY);
        }
        self.blobs[self.blob_slot(bytes)].checked_sub(1)
    }

    /// Return the slot of a byte string: its own, or the empty one that would be.
    fn blob_slot(&self, bytes: &[u8]) -> usize {
        let mut slot = hash(bytes) as usize % BLOB_SLOTS;
        while let Some(id) = self.blobs[slot].checked_sub(1) {
            if self.tables.blob(id) == Some(bytes) {
                break;
            }
            slot = (slot + 1) % BLOB_SLOTS;
        }
        slot
    }

    fn shape_slot(&self, shape: &Shape) -> usize {
        let mut key = [0; 24];
        key[..2].copy_from_slice(&shape.thread.to_le_bytes());
        key[2] = shape.call;
        key[4..8].copy_from_slice(&shape.fd.to_le_bytes());
        key[8..16].copy_from_slice(&shape.result.to_le_bytes());
        key[16..20].copy_from_slice(&shape.given.to_le_bytes());
        key[20..].copy_from_slice(&shape.got.to_le_bytes());
        let mut slot = hash(&key) as usize % SHAPE_SLOTS;
        while let Some(id) = self.shapes[slot].checked_sub(1) {
            if self.tables.shapes[id as usize] == *shape {
                break;
            }
            slot = (slot + 1) % SHAPE_SLOTS;
        }
        slot
    }

    /// Write a byte string in the shortest way, keep it, and return its id.
    fn blob(&mut self, call: Call, side: u8, bytes: &[u8], out: &mut Writer<'_>) -> u32 {
        if let Some(id) = self.find(bytes) {
            out.number(if id == EMPTY { NONE } else { KEPT + u64::from(id) });
            return id;
        }
        let mut key = [call as u8, side, 0, 0, 0, 0, 0, 0];
        key[2..6].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        let base = hash(&key) as usize % BASES;
        if bytes.len() > LONGEST {
            literal(bytes, out);
            return UNKEPT;
        }
        let changed = self.bases[base].checked_sub(1).is_some_and(|id| {
            let begin = out.at;
            let old = self.tables.blob(id).unwrap_or_default();
            let shorter = changed(id, old, bytes, out, begin + bytes.len());
            if !shorter {
                out.at = begin;
            }
            shorter
        });
        if !changed {
            literal(bytes, out);
        }
        let slot = self.blob_slot(bytes);
        let id = self.tables.keep(bytes);
        self.blobs[slot] = id + 1;
        self.bases[base] = id + 1;
        id
    }
}

/// Return a time's difference as a number: zigzag of whole µs with the last bit set, or of ns.
fn packed(ns: i64) -> u64 {
    let zigzag = |value: i64| ((value << 1) ^ (value >> 63)) as u64;
    let (whole, value) = if ns % 1000 == 0 { (1, zigzag(ns / 1000)) } else { (0, zigzag(ns)) };
    value.wrapping_shl(1) | whole
}

fn shape_of(entry: &Entry<'_>, given: u32, got: u32) -> Shape {
    let Entry { thread, call, fd, result, .. } = *entry;
    Shape { thread, call: call as u8, fd, result, given, got }
}

fn literal(bytes: &[u8], out: &mut Writer<'_>) {
    out.number(LITERAL);
    out.number(bytes.len() as u64);
    out.put(bytes);
}

/// Write how a byte string differs from a kept one. Return false if that takes it beyond `most`.
fn changed(id: u32, old: &[u8], new: &[u8], out: &mut Writer<'_>, most: usize) -> bool {
    out.number(CHANGED);
    out.number(u64::from(id));
    out.number(new.len() as u64);
    let differs = |at: usize| old.get(at) != Some(&new[at]);
    let mut at = 0;
    while at < new.len() {
        let begin = (at..new.len()).find(|&it| differs(it)).unwrap_or(new.len());
        let mut end = begin;
        while end < new.len() && (end..new.len().min(end + EQUAL)).any(differs) {
            end += 1;
        }
        out.number((begin - at) as u64);
        out.number((end - begin) as u64);
        if out.at + (end - begin) >= most {
            return false;
        }
        out.put(&new[begin..end]);
        at = end;
    }
    true
}

/// Return the FNV-1a hash of bytes.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    }) >> 7
}
