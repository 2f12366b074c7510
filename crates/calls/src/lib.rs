//! The log of a recorded process: one entry for each call, in a compact form (docs/record-and-replay.md).
//!
//! [`Encoder`] writes entries, [`Decoder`] reads them. Both keep the same tables of what was seen before, so an
//! entry that repeats an earlier one takes a byte or two. All memory is reserved when they are made: a process that
//! is recorded and one that is replayed allocate alike.

mod call;
mod damage;
mod decoder;
mod encoder;
mod number;
mod plain;
mod tables;

pub use call::Call;
pub use damage::Damage;
pub use decoder::{Decoded, Decoder};
pub use encoder::Encoder;
pub use plain::plain_length;

/// The first bytes of a log.
pub const MAGIC: [u8; 8] = *b"dlcalls\n";
/// The version of the form; a reader refuses any other.
pub const VERSION: u16 = 1;
/// The number of bytes before the first entry: the magic, the version (u16, little endian), a byte that
/// says if the recording was cut, five zeros, and the log's length in bytes (u64).
pub const HEADER: usize = 24;
/// The place of a byte that is 1 if the recording ended before the process did: the log was full, or a call was larger
/// than any that is recorded. What comes after it in the header is zero.
pub const CUT_AT: usize = 10;
/// The place of the length, which is written anew after each entry: what is behind it is not part of the log.
pub const LENGTH_AT: usize = 16;

/// Return true if a log, or its beginning, says that the recording ended before the process did.
#[must_use]
pub fn is_cut(log: &[u8]) -> bool {
    log.starts_with(&MAGIC) && log.get(CUT_AT) == Some(&1)
}

/// Return the bytes before the first entry of a log of a length.
#[must_use]
pub fn header(length: usize) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes[LENGTH_AT..].copy_from_slice(&(length as u64).to_le_bytes());
    bytes
}

/// Something that a process asked of the system, and what it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The thread, counted from 0 in the order of their starts.
    pub thread: u16,
    /// The function that was called.
    pub call: Call,
    /// The descriptor, clock or signal that it is about; -1 if none.
    pub fd: i32,
    /// The result that it returned, or minus the error's number.
    pub result: i64,
    /// The time that it returned, in ns; 0 for a call that returns none ([`Call::is_timed`]).
    pub time: i64,
    /// The bytes that the process gave: arguments, and the bytes of an output.
    pub given: &'a [u8],
    /// The bytes that the process got: the bytes of an input.
    pub got: &'a [u8],
}
