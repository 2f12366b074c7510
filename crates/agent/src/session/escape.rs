//! Escaping of a byte that Linux's hypervisor console swallows.
//!
//! A console on `hvc` takes byte 15 for the SysRq key and drops it, whatever its terminal settings are
//! (drivers/tty/hvc/hvc_console.c). So the byte is sent to such a guest as two others.

const SYSRQ: u8 = 0x0f;
const ESCAPE: u8 = 0x10;
const CHANGE: u8 = 0x40;

/// Escape bytes on their way to the guest.
pub(crate) fn escape(bytes: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(bytes.len() + 16);
    for &byte in bytes {
        if matches!(byte, SYSRQ | ESCAPE) {
            escaped.extend([ESCAPE, byte ^ CHANGE]);
        } else {
            escaped.push(byte);
        }
    }
    escaped
}

/// The decoder in the guest, which works piece by piece.
#[derive(Default)]
pub(crate) struct Unescape {
    within: bool,
}

impl Unescape {
    /// Decode a piece of the stream and append the result to `into`.
    pub(crate) fn take(&mut self, piece: &[u8], into: &mut Vec<u8>) {
        for &byte in piece {
            if std::mem::take(&mut self.within) {
                into.push(byte ^ CHANGE);
            } else if byte == ESCAPE {
                self.within = true;
            } else {
                into.push(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_come_through_in_any_pieces(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            cut in 1usize..7,
        ) {
            let escaped = escape(&bytes);
            prop_assert!(!escaped.contains(&SYSRQ));
            let (mut unescape, mut back) = (Unescape::default(), Vec::new());
            for piece in escaped.chunks(cut) {
                unescape.take(piece, &mut back);
            }
            prop_assert_eq!(back, bytes);
        }
    }
}
