//! Tables of byte strings and shapes of entries (all but their times) that were seen before.

/// The most byte strings that are kept.
pub(crate) const MOST_BLOBS: usize = 1 << 14;
/// The most shapes that are kept.
pub(crate) const MOST_SHAPES: usize = 1 << 16;
/// The most bytes that are kept.
pub(crate) const MOST_BYTES: usize = 8 << 20;
/// The longest byte string that is kept.
pub(crate) const LONGEST: usize = 64 << 10;
/// The id of the empty byte string; others count on from it.
pub(crate) const EMPTY: u32 = 0;
/// The id of a byte string that is not kept.
pub(crate) const UNKEPT: u32 = u32::MAX;
/// The number of clocks whose last time is kept.
const CLOCKS: usize = 32;

/// An entry without its time; its byte strings by their ids.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) thread: u16,
    pub(crate) call: u8,
    pub(crate) fd: i32,
    pub(crate) result: i64,
    pub(crate) given: u32,
    pub(crate) got: u32,
}

impl Shape {
    pub(crate) fn is_kept(&self) -> bool {
        self.given != UNKEPT && self.got != UNKEPT
    }
}

/// The tables that writer and reader keep alike.
pub(crate) struct Tables {
    bytes: Vec<u8>,
    /// The places where each byte string begins and ends; the first is empty.
    blobs: Vec<(u32, u32)>,
    pub(crate) shapes: Vec<Shape>,
    /// The shape that came last after each shape, plus one; 0 if none did.
    next: Vec<u32>,
    /// The last entry's shape, plus one; 0 if it is not kept.
    last: u32,
    times: [i64; CLOCKS],
}

impl Tables {
    pub(crate) fn new() -> Self {
        let mut blobs = Vec::with_capacity(MOST_BLOBS);
        blobs.push((0, 0));
        Self {
            bytes: Vec::with_capacity(MOST_BYTES),
            blobs,
            shapes: Vec::with_capacity(MOST_SHAPES),
            next: Vec::with_capacity(MOST_SHAPES),
            last: 0,
            times: [0; CLOCKS],
        }
    }

    /// Forget byte strings and shapes, and keep the clocks' times.
    pub(crate) fn reset(&mut self) {
        self.bytes.clear();
        self.blobs.truncate(1);
        self.shapes.clear();
        self.next.clear();
        self.last = 0;
    }

    /// Return true if one more entry with so many bytes can be kept.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.shapes.len() < MOST_SHAPES
            && self.blobs.len() + 2 <= MOST_BLOBS
            && self.bytes.len() + bytes <= MOST_BYTES
    }

    pub(crate) fn blob(&self, id: u32) -> Option<&[u8]> {
        let (begin, end) = *self.blobs.get(id as usize)?;
        Some(&self.bytes[begin as usize..end as usize])
    }

    /// Keep a byte string that is not kept yet, and return its id.
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> u32 {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.kept_from(begin)
    }

    /// Keep a byte string that differs from a kept one: `change` gets its bytes. Return its id.
    pub(crate) fn keep_changed<E>(
        &mut self,
        base: u32,
        length: usize,
        change: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<u32, E> {
        let (from, to) = self.blobs[base as usize];
        let begin = self.bytes.len();
        let common = length.min((to - from) as usize);
        self.bytes.extend_from_within(from as usize..from as usize + common);
        self.bytes.resize(begin + length, 0);
        change(&mut self.bytes[begin..])?;
        Ok(self.kept_from(begin))
    }

    fn kept_from(&mut self, begin: usize) -> u32 {
        let place = (begin as u32, self.bytes.len() as u32);
        self.blobs.push(place);
        self.blobs.len() as u32 - 1
    }

    pub(crate) fn keep_shape(&mut self, shape: Shape) -> u32 {
        self.shapes.push(shape);
        self.next.push(0);
        self.shapes.len() as u32 - 1
    }

    /// Return the shape that follows the last one, if it is as it was before.
    pub(crate) fn predicted(&self) -> Option<u32> {
        let last = self.last.checked_sub(1)?;
        self.next[last as usize].checked_sub(1)
    }

    /// Note the shape of an entry: None if it is not kept.
    pub(crate) fn follow(&mut self, shape: Option<u32>) {
        let next = shape.map_or(0, |it| it + 1);
        if let Some(last) = self.last.checked_sub(1)
            && next != 0
        {
            self.next[last as usize] = next;
        }
        self.last = next;
    }

    /// Return the last time of a clock.
    pub(crate) fn time(&mut self, clock: i32) -> &mut i64 {
        &mut self.times[clock.rem_euclid(CLOCKS as i32) as usize]
    }
}
