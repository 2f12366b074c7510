//! Whole numbers in as few bytes as they need: seven bits in each, the lowest first (LEB128).

use crate::damage::Damage;

/// The most bytes of a number.
pub(crate) const MOST: usize = 10;

/// A place to write to; what does not fit makes it full.
pub(crate) struct Writer<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) at: usize,
    pub(crate) full: bool,
}

impl Writer<'_> {
    pub(crate) fn number(&mut self, mut value: u64) {
        loop {
            let low = (value & 0x7f) as u8;
            value >>= 7;
            if value == 0 {
                return self.put(&[low]);
            }
            self.put(&[low | 0x80]);
        }
    }

    /// Write a number with a sign: small ones take few bytes on both sides of zero.
    pub(crate) fn signed(&mut self, value: i64) {
        self.number(((value << 1) ^ (value >> 63)) as u64);
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        match self.bytes.get_mut(self.at..self.at + bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.at += bytes.len();
            }
            None => self.full = true,
        }
    }
}

/// The bytes that are read, and how far.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn number(&mut self) -> Result<u64, Damage> {
        let mut value = 0u64;
        for index in 0..MOST {
            let byte = *self.bytes.get(self.at).ok_or(Damage::Short)?;
            self.at += 1;
            let bits = u64::from(byte & 0x7f);
            let shift = 7 * index as u32;
            if bits << shift >> shift != bits {
                return Err(Damage::Number);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Damage::Number)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Damage> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Read a length or an index that memory can hold.
    pub(crate) fn size(&mut self) -> Result<usize, Damage> {
        usize::try_from(self.number()?).map_err(|_| Damage::Number)
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let end = self.at.checked_add(length).ok_or(Damage::Short)?;
        let bytes = self.bytes.get(self.at..end).ok_or(Damage::Short)?;
        self.at = end;
        Ok(bytes)
    }
}
