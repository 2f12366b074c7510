//! The memory of frames under way: slots of equal size, with a limit on their number and a share for each
//! direction that no other direction can take.

use crate::protocol::links::Memory;
use delaylab_os::process::memory;

/// The number of bytes to prefetch of a frame; the CPU fetches the rest of a longer one by itself.
const PREFETCHED: usize = 128;

/// The index of a frame's slot in the pool.
pub(crate) type Slot = u32;

/// The frames of all directions.
pub(crate) struct Pool {
    bytes: Box<[u8]>,
    lengths: Box<[u32]>,
    free: Vec<Slot>,
    stride: usize,
    shared: Shared,
    peak: usize,
}

/// The slots that belong to no single direction.
struct Shared {
    slots: u32,
    used: u32,
    peak: u32,
}

/// The slots of one direction.
#[derive(Clone, Copy)]
pub(crate) struct Account {
    own: u32,
    used: u32,
}

impl Account {
    /// Return the number of slots that the direction uses.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }
}

impl Pool {
    /// Build a pool for frames of up to `longest` bytes in at most `bound` bytes, and the account of each
    /// direction. Half of the slots are shared. Return `None` if a direction would get no slot of its own.
    pub(crate) fn new(bound: u64, longest: usize, directions: usize) -> Option<(Self, Account)> {
        let stride = longest.next_multiple_of(64);
        let slots = u32::try_from(bound / stride as u64).unwrap_or(u32::MAX - 1);
        let directions = u32::try_from(directions.max(1)).ok()?;
        let own = slots / 2 / directions;
        if own == 0 {
            return None;
        }
        let shared = Shared { slots: slots - own * directions, used: 0, peak: 0 };
        let pool = Self {
            // Untouched memory costs nothing.
            bytes: vec![0; slots as usize * stride].into(),
            lengths: vec![0; slots as usize].into(),
            // Last in, first out: recently used slots are in the CPU's cache.
            free: (0..slots).rev().collect(),
            stride,
            shared,
            peak: 0,
        };
        Some((pool, Account { own, used: 0 }))
    }

    /// Fill a slot with a frame that consists of these parts. Return `None` if the direction has used up its
    /// own slots and all shared ones.
    ///
    /// # Panics
    /// Panics if the frame is longer than a slot.
    pub(crate) fn take(&mut self, account: &mut Account, parts: &[&[u8]]) -> Option<Slot> {
        if account.used >= account.own {
            if self.shared.used == self.shared.slots {
                return None;
            }
            self.shared.used += 1;
            self.shared.peak = self.shared.peak.max(self.shared.used);
        }
        account.used += 1;
        let slot = self.free.pop().expect("as many slots as accounts have");
        self.peak = self.peak.max(self.lengths.len() - self.free.len());
        let room = &mut self.bytes[slot as usize * self.stride..][..self.stride];
        let mut length = 0;
        for part in parts {
            room[length..length + part.len()].copy_from_slice(part);
            length += part.len();
        }
        self.lengths[slot as usize] = length as u32;
        Some(slot)
    }

    /// Fill another slot with a copy of a frame. Return `None` as [`Self::take`] does.
    pub(crate) fn copy(&mut self, account: &mut Account, of: Slot) -> Option<Slot> {
        let slot = self.take(account, &[])?;
        let length = self.lengths[of as usize] as usize;
        let start = of as usize * self.stride;
        self.bytes.copy_within(start..start + length, slot as usize * self.stride);
        self.lengths[slot as usize] = length as u32;
        Some(slot)
    }

    /// Free a slot on the account that took it.
    pub(crate) fn give(&mut self, account: &mut Account, slot: Slot) {
        if account.used > account.own {
            self.shared.used -= 1;
        }
        account.used -= 1;
        self.free.push(slot);
    }

    /// Return the number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.lengths.len()
    }

    pub(crate) fn frame(&self, slot: Slot) -> &[u8] {
        &self.bytes[slot as usize * self.stride..][..self.lengths[slot as usize] as usize]
    }

    /// Hint the CPU to fetch the beginning of a frame that will soon be read.
    pub(crate) fn prefetch(&self, slot: Slot) {
        memory::prefetch(&self.bytes[slot as usize * self.stride..][..self.stride.min(PREFETCHED)]);
    }

    pub(crate) fn frame_mut(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.bytes[slot as usize * self.stride..][..self.lengths[slot as usize] as usize]
    }

    pub(crate) fn fullness(&self) -> Memory {
        Memory {
            used: (self.lengths.len() - self.free.len()) * self.stride,
            bound: self.lengths.len() * self.stride,
            peak: self.peak * self.stride,
            warn: self.shared.peak * 2 >= self.shared.slots,
        }
    }

    /// Reset the statistics.
    pub(crate) fn reset(&mut self) {
        self.peak = self.lengths.len() - self.free.len();
        self.shared.peak = self.shared.used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &[&[u8]] = &[&[1, 2], &[3]];

    fn fill(pool: &mut Pool, account: &mut Account) -> Vec<Slot> {
        std::iter::from_fn(|| pool.take(account, FRAME)).collect()
    }

    #[test]
    fn one_direction_takes_all_that_is_shared_and_no_other_s_own() {
        let (mut pool, account) = Pool::new(64 * 100, 60, 4).unwrap();
        let mut accounts = [account; 4];
        let first = fill(&mut pool, &mut accounts[0]);
        assert_eq!(first.len(), 12 + 52);
        assert!(pool.fullness().warn);
        for account in &mut accounts[1..] {
            assert_eq!(fill(&mut pool, account).len(), 12);
        }
        assert_eq!(pool.fullness().used, pool.fullness().bound);
        assert_eq!(pool.frame(first[0]), [1, 2, 3]);
        for slot in first {
            pool.give(&mut accounts[0], slot);
        }
        assert_eq!(fill(&mut pool, &mut accounts[3]).len(), 52);
    }

    #[test]
    fn the_warning_comes_when_half_of_what_is_shared_is_used_and_goes_with_a_reset() {
        let (mut pool, mut account) = Pool::new(64 * 8, 64, 2).unwrap();
        let mut taken = Vec::new();
        for _ in 0..3 {
            taken.extend(pool.take(&mut account, FRAME));
        }
        assert!(!pool.fullness().warn);
        taken.extend(pool.take(&mut account, FRAME));
        assert!(pool.fullness().warn);
        for slot in taken {
            pool.give(&mut account, slot);
        }
        assert!(pool.fullness().warn);
        pool.reset();
        let expected = Memory { used: 0, bound: 512, peak: 0, warn: false };
        assert_eq!(pool.fullness(), expected);
    }

    #[test]
    fn a_copy_is_a_frame_of_its_own_account() {
        let (mut pool, account) = Pool::new(64 * 8, 64, 2).unwrap();
        let (mut of_sender, mut of_receiver) = (account, account);
        let frame = pool.take(&mut of_sender, FRAME).unwrap();
        let copy = pool.copy(&mut of_receiver, frame).unwrap();
        pool.give(&mut of_sender, frame);
        assert_eq!((of_sender.used(), of_receiver.used()), (0, 1));
        assert_eq!(pool.frame(copy), [1, 2, 3]);
    }

    #[test]
    fn too_little_memory_is_refused() {
        assert!(Pool::new(64 * 7, 64, 4).is_none());
    }
}
