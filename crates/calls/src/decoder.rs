//! The reader of a log. It takes any bytes: what is no log is refused, and said to be damaged where it is.

use crate::damage::Damage;
use crate::encoder::{CHANGED, KEPT, KNOWN, LITERAL, NEW, NONE, PREDICTED, RESET};
use crate::number::Reader;
use crate::tables::{EMPTY, LONGEST, Shape, Tables, UNKEPT};
use crate::{Call, Entry, HEADER, LENGTH_AT, MAGIC, VERSION};

/// A byte string of an entry: in the log itself, or one that was kept.
#[derive(Clone, Copy)]
enum Held {
    Kept(u32),
    Log(usize, usize),
}

/// An entry that was read, without its bytes.
#[derive(Clone, Copy)]
pub struct Decoded {
    shape: Shape,
    call: Call,
    given: Held,
    got: Held,
    time: i64,
}

impl Decoded {
    /// Return the thread that made the call.
    #[must_use]
    pub fn thread(&self) -> u16 {
        self.shape.thread
    }

    /// Return the call.
    #[must_use]
    pub fn call(&self) -> Call {
        self.call
    }
}

/// Reads entries one after the other.
pub struct Decoder {
    tables: Tables,
    at: usize,
    length: usize,
}

impl Decoder {
    /// Begin to read a log. Fails if the bytes are no log, or a log of another version.
    pub fn new(log: &[u8]) -> Result<Self, Damage> {
        if log.get(..8) != Some(&MAGIC[..]) {
            return Err(Damage::Foreign);
        }
        let head = log.get(8..10).ok_or(Damage::Short)?;
        let version = u16::from_le_bytes([head[0], head[1]]);
        if version != VERSION {
            return Err(Damage::Version(version));
        }
        let mut length = [0; 8];
        length.copy_from_slice(log.get(LENGTH_AT..HEADER).ok_or(Damage::Short)?);
        let length = usize::try_from(u64::from_le_bytes(length)).map_err(|_| Damage::Number)?;
        if length > log.len() || length < HEADER {
            return Err(Damage::Length(length, log.len()));
        }
        Ok(Self { tables: Tables::new(), at: HEADER, length })
    }

    /// Return the number of bytes that were read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Return the number of bytes of the log.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Read the next entry; None at the log's end. `log` is the same at each call.
    pub fn next(&mut self, log: &[u8]) -> Result<Option<Decoded>, Damage> {
        let log = log.get(..self.length).ok_or(Damage::Short)?;
        let mut from = Reader { bytes: log, at: self.at };
        loop {
            if from.at == log.len() {
                return Ok(None);
            }
            let read = match from.number()? {
                RESET => {
                    self.tables.reset();
                    continue;
                }
                NEW => self.new_shape(&mut from)?,
                PREDICTED => self.known(self.tables.predicted().ok_or(Damage::Reference)?)?,
                other => {
                    let id = other.checked_sub(KNOWN).and_then(|id| u32::try_from(id).ok());
                    let id = id.ok_or(Damage::Reference)?;
                    self.known(id)?
                }
            };
            let time = if read.call.is_timed() {
                let last = self.tables.time(read.shape.fd);
                *last = last.wrapping_add(unpacked(from.number()?)?);
                *last
            } else {
                0
            };
            self.at = from.at;
            return Ok(Some(Decoded { time, ..read }));
        }
    }

    /// Return an entry with its bytes.
    #[must_use]
    pub fn entry<'a>(&'a self, read: &Decoded, log: &'a [u8]) -> Entry<'a> {
        let Shape { thread, fd, result, .. } = read.shape;
        let (given, got) = (self.bytes(read.given, log), self.bytes(read.got, log));
        Entry { thread, call: read.call, fd, result, time: read.time, given, got }
    }

    fn bytes<'a>(&'a self, place: Held, log: &'a [u8]) -> &'a [u8] {
        match place {
            Held::Kept(id) => self.tables.blob(id).unwrap_or_default(),
            Held::Log(begin, end) => log.get(begin..end).unwrap_or_default(),
        }
    }

    fn known(&mut self, id: u32) -> Result<Decoded, Damage> {
        let shape = *self.tables.shapes.get(id as usize).ok_or(Damage::Reference)?;
        let call = Call::of(u64::from(shape.call)).ok_or(Damage::Call)?;
        self.tables.follow(Some(id));
        let (given, got) = (Held::Kept(shape.given), Held::Kept(shape.got));
        Ok(Decoded { shape, call, given, got, time: 0 })
    }

    fn new_shape(&mut self, from: &mut Reader<'_>) -> Result<Decoded, Damage> {
        if !self.tables.has_room(0) {
            return Err(Damage::Room);
        }
        let thread = u16::try_from(from.number()?).map_err(|_| Damage::Number)?;
        let call = Call::of(from.number()?).ok_or(Damage::Call)?;
        let fd = i32::try_from(from.signed()?).map_err(|_| Damage::Number)?;
        let result = from.signed()?;
        let given = self.blob(from)?;
        let got = self.blob(from)?;
        let id = |place| if let Held::Kept(id) = place { id } else { UNKEPT };
        let shape = Shape { thread, call: call as u8, fd, result, given: id(given), got: id(got) };
        let kept = shape.is_kept().then(|| self.tables.keep_shape(shape));
        self.tables.follow(kept);
        Ok(Decoded { shape, call, given, got, time: 0 })
    }

    fn blob(&mut self, from: &mut Reader<'_>) -> Result<Held, Damage> {
        match from.number()? {
            NONE => Ok(Held::Kept(EMPTY)),
            LITERAL => {
                let length = from.size()?;
                let begin = from.at;
                let bytes = from.take(length)?;
                if length > LONGEST {
                    return Ok(Held::Log(begin, begin + length));
                }
                self.room(length)?;
                Ok(Held::Kept(self.tables.keep(bytes)))
            }
            CHANGED => {
                let base = u32::try_from(from.number()?).map_err(|_| Damage::Reference)?;
                self.tables.blob(base).ok_or(Damage::Reference)?;
                let length = from.size()?;
                if length > LONGEST {
                    return Err(Damage::Room);
                }
                self.room(length)?;
                let id = self.tables.keep_changed(base, length, |bytes| change(bytes, from))?;
                Ok(Held::Kept(id))
            }
            other => {
                let id = u32::try_from(other - KEPT).map_err(|_| Damage::Reference)?;
                self.tables.blob(id).ok_or(Damage::Reference)?;
                Ok(Held::Kept(id))
            }
        }
    }

    fn room(&self, bytes: usize) -> Result<(), Damage> {
        if self.tables.has_room(bytes) { Ok(()) } else { Err(Damage::Room) }
    }
}

/// Return a time's difference in ns.
fn unpacked(number: u64) -> Result<i64, Damage> {
    let value = number >> 1;
    let value = (value >> 1) as i64 ^ -((value & 1) as i64);
    if number & 1 == 1 { value.checked_mul(1000).ok_or(Damage::Number) } else { Ok(value) }
}

/// Put runs of changed bytes over the old ones.
fn change(bytes: &mut [u8], from: &mut Reader<'_>) -> Result<(), Damage> {
    let mut at = 0usize;
    while at < bytes.len() {
        let begin = at.checked_add(from.size()?).ok_or(Damage::Number)?;
        let length = from.size()?;
        let new = from.take(length)?;
        let end = begin.checked_add(length).ok_or(Damage::Number)?;
        bytes.get_mut(begin..end).ok_or(Damage::Reference)?.copy_from_slice(new);
        if end == at {
            // A run of nothing after nothing would be read for ever.
            return Err(Damage::Reference);
        }
        at = end;
    }
    Ok(())
}
