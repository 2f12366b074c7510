//! The rings of records, in memory that the programs write.

use super::record::{Record, WORDS};
use crate::bpf::SharedArray;

/// The words of a CPU's state, `struct cpu` in `bpf/cpus.c`; the first one counts its records.
pub(super) const CPU_WORDS: usize = 16;

/// The rings of all CPUs, which the programs write.
pub(super) struct Rings {
    pub(super) records: SharedArray,
    pub(super) cpus: SharedArray,
    /// The number of records of a ring, a power of 2.
    pub(super) length: u64,
}

impl Rings {
    /// Return the number of records that a CPU has begun to write.
    pub(super) fn head(&self, cpu: usize) -> u64 {
        let [head] = self.cpus.words(cpu * CPU_WORDS);
        head
    }

    /// Return the number of the oldest record of a CPU that is not overwritten yet.
    pub(super) fn oldest(&self, cpu: usize) -> u64 {
        self.head(cpu).saturating_sub(self.length)
    }

    /// Return a record of a CPU by its number; `None` while it is being written.
    pub(super) fn record(&self, cpu: usize, number: u64) -> Option<Record> {
        let place = cpu as u64 * self.length + number % self.length;
        // The lap is written last, so it is looked at before all else is read.
        let lap = |record: Record| record.lap == (number / self.length + 1) as u16;
        let read = || Record::of_words(self.records.words(place as usize * WORDS));
        lap(read()).then(read)
    }
}
