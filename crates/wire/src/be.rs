//! Big-endian reads of a slice whose length the caller's view has checked.

/// Return the 16 bits at an offset.
pub(crate) fn u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Return the 32 bits at an offset.
pub(crate) fn u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
