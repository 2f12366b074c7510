//! A seed and its length fields.

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
