//! The Internet checksum (RFC 1071).

use std::net::IpAddr;

/// A running one's-complement sum. Pieces may be added in any order if all but the last one added have an
/// even length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    /// Add `bytes` to the sum, padded with a zero to an even length.
    #[must_use]
    pub fn over(mut self, bytes: &[u8]) -> Self {
        // Four bytes at a time in host order: the one's-complement sum is independent of the
        // word size and, up to a swap at the end, of byte order (RFC 1071, section 2).
        let (words, tail) = bytes.as_chunks::<4>();
        for word in words {
            self.0 += u64::from(u32::from_ne_bytes(*word));
        }
        let mut last = [0; 4];
        last[..tail.len()].copy_from_slice(tail);
        self.0 += u64::from(u32::from_ne_bytes(last));
        self
    }

    /// Return the value of the checksum field, in host order (write it big-endian).
    #[must_use]
    pub fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        u16::from_be(!(sum as u16))
    }
}

/// Sum the pseudo header that UDP and ICMPv6 include (RFC 768; RFC 8200, section 8.1). Addresses of two
/// different families have no pseudo header; their sum is empty.
#[must_use]
pub fn pseudo_header(from: IpAddr, to: IpAddr, protocol: u8, length: usize) -> Sum {
    let sum = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            Sum::default().over(&from.octets()).over(&to.octets())
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            Sum::default().over(&from.octets()).over(&to.octets())
        }
        _ => return Sum::default(),
    };
    sum.over(&(length as u32).to_be_bytes()).over(&[0, protocol])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compute the checksum word by word, as in RFC 1071, section 4.1.
    fn slow(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn the_rfc_1071_example() {
        let sum = Sum::default().over(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.finish(), !0xddf2);
    }

    proptest! {
        #[test]
        fn any_bytes_sum_as_word_by_word(bytes in proptest::collection::vec(any::<u8>(), 0..99)) {
            prop_assert_eq!(Sum::default().over(&bytes).finish(), slow(&bytes));
        }

        #[test]
        fn a_packet_with_its_checksum_sums_to_zero(
            mut bytes in proptest::collection::vec(any::<u8>(), 2..99),
        ) {
            bytes[..2].fill(0);
            let sum = Sum::default().over(&bytes).finish();
            bytes[..2].copy_from_slice(&sum.to_be_bytes());
            prop_assert_eq!(Sum::default().over(&bytes).finish(), 0);
        }
    }
}
