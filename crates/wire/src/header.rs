//! The header at the start of every probe packet's payload.

use crate::{NotAProbe, be};

/// The magic number: `dlab` in ASCII.
pub const MAGIC: u32 = 0x646c_6162;
/// The header's version, the only one so far.
pub const VERSION: u8 = 1;
/// The length of the header in bytes.
pub const PROBE_HEADER: usize = 24;

/// A probe header in captured bytes: magic `u32`, version `u8`, flags `u8`, reserved `u16`, probe `u32`, seq
/// `u32`, nonce `u64`, all big-endian.
#[derive(Clone, Copy, Debug)]
pub struct ProbeView<'a>(&'a [u8]);

impl<'a> ProbeView<'a> {
    /// Wrap a payload. Fail unless it is long enough and starts with the magic number and the version.
    pub fn new(payload: &'a [u8]) -> Result<Self, NotAProbe> {
        if payload.len() < PROBE_HEADER {
            return Err(NotAProbe::Truncated("probe"));
        }
        if be::u32(payload, 0) != MAGIC || payload[4] != VERSION {
            return Err(NotAProbe::Other);
        }
        Ok(Self(payload))
    }

    /// Return the number of the probe that the packet belongs to.
    pub fn probe(&self) -> u32 {
        be::u32(self.0, 8)
    }

    /// Return the packet's sequence number within the probe.
    pub fn seq(&self) -> u32 {
        be::u32(self.0, 12)
    }

    /// Return the number that only the sender, and who has seen the packet, can know.
    pub fn nonce(&self) -> u64 {
        (u64::from(be::u32(self.0, 16)) << 32) | u64::from(be::u32(self.0, 20))
    }
}

/// A probe header to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRepr {
    /// The number of the probe that the packet belongs to.
    pub probe: u32,
    /// The packet's sequence number within the probe.
    pub seq: u32,
    /// The number that only the sender, and who has seen the packet, can know.
    pub nonce: u64,
}

impl ProbeRepr {
    /// Read the fields of a captured header.
    pub fn parse(view: &ProbeView<'_>) -> Self {
        Self { probe: view.probe(), seq: view.seq(), nonce: view.nonce() }
    }

    /// Write the header over the first [`PROBE_HEADER`] bytes of `payload`.
    ///
    /// # Panics
    /// Panics if `payload` is shorter than that.
    pub fn emit(&self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&MAGIC.to_be_bytes());
        payload[4..8].copy_from_slice(&[VERSION, 0, 0, 0]);
        payload[8..12].copy_from_slice(&self.probe.to_be_bytes());
        payload[12..16].copy_from_slice(&self.seq.to_be_bytes());
        payload[16..24].copy_from_slice(&self.nonce.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_is_these_bytes() {
        let mut bytes = [0xff; PROBE_HEADER];
        ProbeRepr { probe: 0x0102_0304, seq: 5, nonce: u64::MAX - 1 }.emit(&mut bytes);
        assert_eq!(&bytes[..16], b"dlab\x01\0\0\0\x01\x02\x03\x04\0\0\0\x05");
        assert_eq!(&bytes[16..], b"\xff\xff\xff\xff\xff\xff\xff\xfe");
    }

    #[test]
    fn another_magic_or_version_is_not_a_probe() {
        let mut bytes = [0; PROBE_HEADER];
        ProbeRepr { probe: 1, seq: 2, nonce: 3 }.emit(&mut bytes);
        assert!(ProbeView::new(&bytes).is_ok());
        for at in [0, 3, 4] {
            let mut other = bytes;
            other[at] ^= 1;
            assert_eq!(ProbeView::new(&other).unwrap_err(), NotAProbe::Other);
        }
        assert_eq!(ProbeView::new(&bytes[..23]).unwrap_err(), NotAProbe::Truncated("probe"));
    }

    proptest! {
        #[test]
        fn headers_round_trip(probe: u32, seq: u32, nonce: u64) {
            let repr = ProbeRepr { probe, seq, nonce };
            let mut bytes = [0; PROBE_HEADER];
            repr.emit(&mut bytes);
            prop_assert_eq!(ProbeRepr::parse(&ProbeView::new(&bytes).unwrap()), repr);
        }
    }
}
