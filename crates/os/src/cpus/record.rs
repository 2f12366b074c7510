//! One record of what a CPU did, as the programs write it (`bpf/cpus.c`).

use super::{Begun, Named};
use crate::clock::Monotonic;

/// A record as in `bpf/cpus.c`, where the meaning of `a` to `e` stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) time_ns: u64,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) lap: u16,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) c: u32,
    pub(super) d: u64,
    pub(super) e: u64,
}

/// A task, by its number in the initial PID namespace; 0 is the idle task of a CPU.
pub type Task = u32;

/// A thing that a CPU did at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A CPU went from one task to another.
    Switch {
        /// The task that had the CPU.
        before: Task,
        /// The task that has it now.
        after: Task,
        /// The way in which the earlier task left.
        left: Left,
        /// The number of switches of this CPU, modulo 2^32. Where it grows by more than 1, records are missing.
        switches: u32,
        /// The time in ns for which the earlier task has run since it began; of the idle task how long it was idle,
        /// or 0 if that is not known.
        ran_ns: u64,
        /// The time that this CPU was in softirqs and in interrupts until now.
        interrupted: Interrupted,
    },
    /// A task was woken.
    Waking {
        /// The task that sleeps no more.
        woken: Task,
        /// The task that this CPU ran.
        running: Task,
        /// The waker.
        by: Waker,
    },
    /// A softirq ended that was long.
    Softirq {
        /// Its number in the kernel.
        number: u32,
        /// Its length in ns, without interrupts within it.
        took_ns: u64,
    },
    /// An interrupt ended that was long.
    Interrupt {
        /// Its number.
        number: u32,
        /// Its length in ns.
        took_ns: u64,
    },
    /// A signal was sent that stops, continues or ends a task.
    Signal {
        /// Its number.
        signal: u32,
        /// The task that gets it.
        to: Task,
        /// The task that sent it.
        from: Task,
    },
    /// A task had looked for memory, for its group or for the machine.
    Reclaim {
        /// The task.
        task: Task,
        /// The time that it took, in ns.
        took_ns: u64,
    },
    /// A hypervisor had taken time from this CPU.
    Stolen {
        /// The time in ns since the machine was started.
        until_now_ns: u64,
    },
}

/// The way in which a task left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Ready to run on: another task was put in its place.
    Runnable,
    /// Waiting for something, such as a packet, a timer, or a tracer.
    Asleep,
    /// Waiting for something that a signal does not end, such as a disk.
    Blocked,
    /// Stopped by a signal.
    Stopped,
    /// Ended.
    Ended,
    /// Ready to run on, while its control group had used up its CPU time.
    Throttled,
}

/// A waker of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// The running task.
    Task,
    /// A timer.
    Timer,
    /// An interrupt.
    Interrupt,
    /// The softirq of packets; it may run within the call of the running task that sends one.
    Network,
    /// Another softirq.
    Softirq,
}

/// Time that a CPU was in softirqs and in interrupts, each in units of 64 ns, modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// Time in softirqs, without interrupts within them.
    pub softirqs: u32,
    /// Time in interrupts.
    pub interrupts: u32,
}

/// The length of a record in memory, in words of 8 bytes.
pub(super) const WORDS: usize = 5;

impl Record {
    /// Return the record in these words: `struct record` in `bpf/cpus.c`, on a little-endian machine.
    pub(super) fn of_words(words: [u64; WORDS]) -> Self {
        let [time_ns, head, tail, d, e] = words;
        Self {
            time_ns,
            kind: head as u8,
            flags: (head >> 8) as u8,
            lap: (head >> 16) as u16,
            a: (head >> 32) as u32,
            b: tail as u32,
            c: (tail >> 32) as u32,
            d,
            e,
        }
    }

    /// Return the time of the record.
    pub(super) fn time(&self) -> Monotonic {
        Monotonic::from_ns(self.time_ns.cast_signed())
    }

    /// Return the number of a switch, as the CPU counts them; `None` for other records.
    pub(super) fn switch(&self) -> Option<u32> {
        (self.kind == 1).then_some(self.c)
    }

    /// Return what a task was called; `None` for other records.
    pub(super) fn named(&self) -> Option<Named> {
        (self.kind == 7).then(|| Named {
            task: self.a,
            process: self.b,
            name: name(self.d, self.e),
            until: self.time(),
        })
    }

    /// Return the task that began; `None` for other records.
    pub(super) fn begun(&self) -> Option<Begun> {
        (self.kind == 8).then_some(Begun { task: self.a, process: self.b, maker: self.c })
    }

    /// Return what the CPU did; `None` for a name, and for a task that began.
    pub(super) fn deed(&self) -> Option<Deed> {
        Some(match self.kind {
            1 => Deed::Switch {
                before: self.a,
                after: self.b,
                left: left(self.flags),
                switches: self.c,
                ran_ns: self.d,
                interrupted: Interrupted {
                    softirqs: (self.e >> 32) as u32,
                    interrupts: self.e as u32,
                },
            },
            2 => Deed::Waking { woken: self.a, running: self.b, by: waker(self.flags) },
            3 => Deed::Softirq { number: self.a, took_ns: self.d },
            4 => Deed::Interrupt { number: self.a, took_ns: self.d },
            5 => Deed::Signal { signal: self.a, to: self.b, from: self.c },
            6 => Deed::Stolen { until_now_ns: self.d },
            9 => Deed::Reclaim { task: self.a, took_ns: self.d },
            _ => return None,
        })
    }
}

/// Return what the flags of a switch say: `enum left` in `bpf/cpus.c`.
fn left(flags: u8) -> Left {
    match flags {
        0 => Left::Runnable,
        2 => Left::Blocked,
        3 => Left::Stopped,
        4 => Left::Ended,
        5 => Left::Throttled,
        _ => Left::Asleep,
    }
}

/// Return what the flags of a waking say: `enum waker` in `bpf/cpus.c`.
fn waker(flags: u8) -> Waker {
    match flags {
        0 => Waker::Task,
        1 => Waker::Timer,
        2 => Waker::Interrupt,
        3 => Waker::Network,
        _ => Waker::Softirq,
    }
}

fn name(first: u64, second: u64) -> [u8; 16] {
    let mut name = [0; 16];
    name[..8].copy_from_slice(&first.to_ne_bytes());
    name[8..].copy_from_slice(&second.to_ne_bytes());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_as_it_was_in_memory() {
        let word = |text: &[u8; 8]| u64::from_ne_bytes(*text);
        assert_eq!(&name(word(b"ksoftirq"), word(b"d/1\0\0\0\0\0")), b"ksoftirqd/1\0\0\0\0\0");
    }
}
