//! The packets of a probe that were seen before.

use std::collections::HashMap;

use delaylab_wire::Leg;

const WORD: u32 = 64;

/// The key of a word: probe, leg, and sequence number / [`WORD`].
type Key = (u32, Leg, u32);

/// A set of packets: bits by sequence number, so neighbours share a word.
#[derive(Debug, Default)]
pub(super) struct Seen {
    words: HashMap<Key, u64>,
    /// The word of the last packet of each leg, not yet in `words`. Most packets follow their neighbours and
    /// so need no hashing.
    last: [Option<(Key, u64)>; 2],
}

impl Seen {
    /// Add a packet; return true if it is new.
    pub(super) fn insert(&mut self, probe: u32, leg: Leg, seq: u32) -> bool {
        let key = (probe, leg, seq / WORD);
        let bit = 1 << (seq % WORD);
        let last = &mut self.last[leg as usize];
        let word = match last {
            Some((known, word)) if *known == key => word,
            _ => {
                if let Some((known, word)) = last.take() {
                    self.words.insert(known, word);
                }
                let word = self.words.get(&key).copied().unwrap_or(0);
                &mut last.insert((key, word)).1
            }
        };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_same_packets_are_new_as_in_a_plain_set() {
        let (mut seen, mut plain) = (Seen::default(), HashSet::new());
        let mut random = 1u32;
        let mut repeats = 0;
        for _ in 0..20_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let leg = if random & 1 << 20 == 0 { Leg::Request } else { Leg::Reply };
            let (probe, seq) = (random >> 31, (random >> 8) % 3000);
            let new = plain.insert((probe, leg, seq));
            repeats += usize::from(!new);
            assert_eq!(seen.insert(probe, leg, seq), new, "{probe} {leg:?} {seq}");
        }
        assert!(repeats > 5_000, "a repeated packet must occur often: {repeats}");
    }
}
