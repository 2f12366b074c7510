//! The plain form, in which each call stands for itself. It is the measure of what the compact form saves.

use crate::Entry;

/// The bytes of an entry's fixed fields: thread (2), call (2), descriptor (4), result (8), time (8), and the lengths of
/// what was given and got (4 each).
const FIXED: usize = 32;

/// Return the number of bytes of an entry in plain form: fixed fields, then all bytes given and got.
#[must_use]
pub fn plain_length(entry: &Entry<'_>) -> usize {
    FIXED + entry.given.len() + entry.got.len()
}
