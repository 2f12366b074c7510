//! Inputs of all shapes that the targets know, most of them good: mutations of these get past the
//! first check.

pub mod frame;
pub mod packet;
pub mod pcapng;

/// A number in an input that says how long something is.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its first byte.
    pub at: usize,
    /// Its size in bytes: 1, 2 or 4.
    pub width: usize,
    /// True if its most significant byte comes first.
    pub big_endian: bool,
}

impl Field {
    /// Returns its value; `None` where the input has been cut before its end.
    pub fn get(&self, bytes: &[u8]) -> Option<u32> {
        let field = bytes.get(self.at..self.at + self.width)?;
        let add = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
        Some(match self.big_endian {
            true => field.iter().fold(0, add),
            false => field.iter().rev().fold(0, add),
        })
    }

    /// Writes the low bytes of `value`, as many as are there.
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
    /// True if the target must accept it as it is, false if it must refuse it.
    pub good: bool,
}
