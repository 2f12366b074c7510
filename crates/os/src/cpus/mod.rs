//! A recorder of what each CPU of the machine did (`bpf/cpus.c`), as far back as its memory reaches.
//!
//! The programs write to a ring for each CPU, in memory that they share with this process; reading it is no system
//! call. [`Recorder::collect`] copies what is new before the rings have gone round, and keeps it up to a limit. So a
//! window of time can be read after it has passed ([`Recorder::window`]).

mod programs;
mod record;
mod rings;

use std::collections::{HashSet, VecDeque};
use std::{fmt, fs, io};

use aya::Ebpf;
use nix::sys::prctl;
use nix::unistd::gettid;

pub use record::{Deed, Interrupted, Left, Task, Waker};

use crate::bpf::SharedArray;
use crate::clock::Monotonic;
use record::{Record, WORDS};
use rings::{CPU_WORDS, Rings};

/// The most records of a CPU's ring: 6 s of a busy CPU, of 20 000 records a second.
const LONGEST: usize = 1 << 17;
/// The most bytes of all rings: machines with many CPUs have shorter ones.
const MEMORY: usize = 128 << 20;
/// The most names of tasks that are kept, and the most tasks that are known to have been seen.
const NAMES: usize = 100_000;
/// The records of a CPU that are kept.
#[derive(Debug, Default)]
struct Kept {
    /// The number of the next record to copy, of all that the CPU has written.
    next: u64,
    /// The copied records that are kept, in the order of their time.
    records: VecDeque<Record>,
    /// The number of the last switch, as the CPU counts them; `None` where records were overwritten since then.
    last_switch: Option<u32>,
    counts: Counts,
}

/// Counts of a CPU's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that were copied.
    pub records: u64,
    /// Records of switches.
    pub switches: u64,
    /// Switches that the programs did not see, by the CPU's own count.
    pub unseen: u64,
    /// Records that newer ones had overwritten before they were copied.
    pub overwritten: u64,
    /// Records that were copied, and dropped when there were more than are kept.
    pub dropped: u64,
}

/// The name of a task that has ended or has another name now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The task.
    pub task: Task,
    /// The process that it was a thread of.
    pub process: Task,
    /// Its name, up to the first 0.
    pub name: [u8; 16],
    /// The time at which it ended or took another name.
    pub until: Monotonic,
}

/// A task that began, and the process that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The task.
    pub task: Task,
    /// The process that it is a thread of: its own, or one that has others.
    pub process: Task,
    /// The process that made it.
    pub maker: Task,
}

/// A recorder. The programs are taken off on drop, and by the kernel if this process is killed.
pub struct Recorder {
    rings: Rings,
    kept: Vec<Kept>,
    /// The most records that are kept of each CPU.
    most: usize,
    /// Names of tasks, the latest last, and at most [`NAMES`] of them.
    named: VecDeque<Named>,
    /// Tasks that have begun, the latest last, and at most [`NAMES`] of them.
    begun: VecDeque<Begun>,
    /// The tasks that have run, and those of them that [`Recorder::take_new`] has not told yet.
    seen: HashSet<Task>,
    new: Vec<Task>,
    /// The programs stay attached as long as this.
    _object: Ebpf,
}

impl Recorder {
    /// Start to record; keep at most so many records of each CPU.
    ///
    /// This needs `CAP_BPF` and `CAP_PERFMON` outside of user namespaces, and a kernel that describes its types (BTF).
    /// It fails with the loader's text where the kernel lets no programs in.
    pub fn start(most: usize) -> io::Result<Self> {
        let cpus = possible_cpus()?;
        let length = ring_length(cpus);
        let object = programs::start(cpus, length)?;
        let rings = Rings {
            records: SharedArray::of_words(&object, "RECORDS", cpus * length * WORDS)?,
            cpus: SharedArray::of_words(&object, "CPUS", cpus * CPU_WORDS)?,
            length: length as u64,
        };
        let kept = (0..cpus).map(|_| Kept::default()).collect();
        let (named, begun) = (VecDeque::new(), VecDeque::new());
        let (seen, new) = (HashSet::new(), Vec::new());
        let mut recorder = Self { rings, kept, most, named, begun, seen, new, _object: object };
        recorder.check_numbers()?;
        Ok(recorder)
    }

    /// Fail if this process knows itself by another number than the records do.
    fn check_numbers(&mut self) -> io::Result<()> {
        // A thread that is given a name, also its own one, is recorded with its number.
        prctl::set_name(&prctl::get_name()?)?;
        self.collect();
        match self.named(gettid().as_raw().cast_unsigned()) {
            Some(_) => Ok(()),
            None => Err(io::Error::other(
                "this process is in a PID namespace of its own, so that it cannot tell who a task is",
            )),
        }
    }

    /// Copy the records that were written since the last call.
    ///
    /// The rings hold those of a second or more: call this ten times a second.
    pub fn collect(&mut self) {
        for (cpu, kept) in self.kept.iter_mut().enumerate() {
            kept.skip_to(self.rings.oldest(cpu));
            let mut copied: VecDeque<Record> = (kept.next..self.rings.head(cpu))
                .map_while(|number| self.rings.record(cpu, number))
                .collect();
            // What was overwritten meanwhile was copied by chance, or in part.
            let end = kept.next + copied.len() as u64;
            let spoiled = self.rings.oldest(cpu).clamp(kept.next, end) - kept.next;
            copied.drain(..spoiled as usize);
            kept.skip_to(kept.next + spoiled);
            for record in &copied {
                if let Some(named) = record.named() {
                    // It is looked up anew by who asks for new tasks: another name, or another task.
                    self.seen.remove(&named.task);
                    self.named.push_back(named);
                } else if let Some(begun) = record.begun() {
                    self.begun.push_back(begun);
                } else if let Some(Deed::Switch { after, .. }) = record.deed()
                    && self.seen.insert(after)
                {
                    self.new.push(after);
                }
            }
            kept.keep(copied, self.most);
        }
        let over = self.named.len().saturating_sub(NAMES);
        self.named.drain(..over);
        let over = self.begun.len().saturating_sub(NAMES);
        self.begun.drain(..over);
        self.new.truncate(NAMES);
        if self.seen.len() > NAMES {
            self.seen.clear();
        }
    }

    /// Return at most so many tasks that ran for the first time, or under another name, since the last call.
    pub fn take_new(&mut self, most: usize) -> Vec<Task> {
        self.new.drain(..most.min(self.new.len())).collect()
    }

    /// Return what each CPU did from one time to another, in the order of time for each CPU.
    ///
    /// The last switch of each CPU before that comes first, so that it is known who had the CPU.
    pub fn window(
        &self,
        from: Monotonic,
        to: Monotonic,
    ) -> impl Iterator<Item = (u16, Monotonic, Deed)> + '_ {
        self.kept.iter().enumerate().flat_map(move |(cpu, kept)| {
            let first = kept.records.partition_point(|record| record.time() < from);
            let after = kept.records.partition_point(|record| record.time() <= to);
            let is_switch = |record: &&Record| record.switch().is_some();
            let before = kept.records.range(..first).rev().find(is_switch);
            before
                .into_iter()
                .chain(kept.records.range(first..after.max(first)))
                .filter_map(move |record| Some((cpu as u16, record.time(), record.deed()?)))
        })
    }

    /// Return the last name of a task that has ended or has another name now.
    pub fn named(&self, task: Task) -> Option<Named> {
        self.named.iter().rev().find(|named| named.task == task).copied()
    }

    /// Return the beginning of a task, if that was recorded.
    pub fn begun(&self, task: Task) -> Option<Begun> {
        self.begun.iter().rev().find(|begun| begun.task == task).copied()
    }

    /// Return the counts of each CPU, in the order of their numbers.
    pub fn counts(&self) -> impl Iterator<Item = Counts> + '_ {
        self.kept.iter().map(|kept| kept.counts)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Recorder of {} CPUs", self.kept.len())
    }
}

impl Kept {
    /// Go on with a later record: those before it are overwritten.
    fn skip_to(&mut self, number: u64) {
        let skipped = number.saturating_sub(self.next);
        if skipped > 0 {
            self.counts.overwritten += skipped;
            self.next = number;
            self.last_switch = None;
        }
    }

    /// Keep records that were copied, and at most so many in all.
    fn keep(&mut self, copied: VecDeque<Record>, most: usize) {
        self.next += copied.len() as u64;
        self.counts.records += copied.len() as u64;
        for record in copied {
            if let Some(number) = record.switch() {
                // The count wraps around; it grows by 1 with each switch.
                let passed = self.last_switch.map_or(1, |last| number.wrapping_sub(last));
                self.counts.switches += 1;
                self.counts.unseen += u64::from(passed.saturating_sub(1));
                self.last_switch = Some(number);
            }
            // An interrupt between the time and the place of a record wrote others, which are later and come first.
            let later = |kept: &&Record| kept.time() > record.time();
            let later = self.records.iter().rev().take_while(later).count();
            self.records.insert(self.records.len() - later, record);
        }
        let over = self.records.len().saturating_sub(most);
        self.records.drain(..over);
        self.counts.dropped += over as u64;
    }
}

/// Return the number of records of a ring on a machine with so many CPUs, a power of 2.
fn ring_length(cpus: usize) -> usize {
    let most = (MEMORY / size_of::<[u64; WORDS]>() / cpus.max(1)).clamp(1 << 10, LONGEST);
    1 << most.ilog2()
}

/// Return the number of CPUs that this machine can have, present or not.
fn possible_cpus() -> io::Result<usize> {
    let text = fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let last = text.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok());
    let odd = || io::Error::other(format!("not a list of CPUs: {}", text.trim()));
    Ok(last.ok_or_else(odd)? + 1)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use super::programs::IN_BLOCK;
    use super::*;

    #[test]
    fn many_cpus_have_shorter_rings() {
        assert_eq!(ring_length(2), LONGEST);
        assert_eq!(ring_length(128), 1 << 14);
        assert!(ring_length(usize::MAX).is_multiple_of(IN_BLOCK));
        assert!(256 * ring_length(256) * size_of::<[u64; WORDS]>() <= MEMORY);
    }

    #[test]
    fn a_record_of_an_earlier_time_comes_before_later_ones() {
        let at = |time_ns| Record { time_ns, ..Record::default() };
        let mut kept = Kept::default();
        kept.keep([at(1), at(5), at(3), at(7)].into(), 3);
        let times: Vec<u64> = kept.records.iter().map(|record| record.time_ns).collect();
        assert_eq!(times, [3, 5, 7]);
        assert_eq!(kept.counts.dropped, 1);
    }

    #[test]
    fn a_switch_that_was_not_seen_is_counted_and_one_that_was_overwritten_is_not() {
        let switch = |c| Record { kind: 1, c, ..Record::default() };
        let mut kept = Kept::default();
        kept.keep([switch(u32::MAX), switch(0), switch(3)].into(), 9);
        assert_eq!((kept.counts.switches, kept.counts.unseen), (3, 2));
        kept.skip_to(10);
        kept.keep([switch(20), switch(21)].into(), 9);
        assert_eq!((kept.counts.switches, kept.counts.unseen, kept.counts.overwritten), (5, 2, 7));
    }

    /// A thread that is given a name has a record each time.
    #[test]
    fn each_record_is_read_also_after_a_ring_went_round() {
        let Ok(mut recorder) = Recorder::start(1 << 10) else { return };
        recorder.named.clear();
        let (own, name) = (gettid().as_raw().cast_unsigned(), prctl::get_name().expect("a name"));
        let (batches, batch) = (300, 1000);
        assert!(batches * batch > 2 * LONGEST);
        let mut found = 0;
        for _ in 0..batches {
            for _ in 0..batch {
                prctl::set_name(&name).expect("its own name");
            }
            recorder.collect();
            found += recorder.named.drain(..).filter(|named| named.task == own).count();
        }
        assert_eq!(found, batches * batch);
        assert!(recorder.counts().all(|counts| counts.overwritten == 0));
    }

    #[test]
    fn a_program_that_ended_at_once_is_known_by_who_made_it() {
        let Ok(mut recorder) = Recorder::start(1 << 16) else { return };
        let mut child = Command::new("true").spawn().expect("a program");
        let number = child.id();
        child.wait().expect("the program");
        recorder.collect();
        let begun = recorder.begun(number).expect("it began");
        assert_eq!((begun.process, begun.maker), (number, std::process::id()));
    }

    /// The switches of each CPU are numbered: none is missing, but for those that the kernel hides.
    #[test]
    fn a_program_that_stops_itself_is_seen_and_named() {
        let Ok(mut recorder) = Recorder::start(1 << 16) else { return };
        let began = Monotonic::now();
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", "kill -STOP $$"]).stdin(Stdio::null());
        let mut child = shell.spawn().expect("a shell");
        let number = child.id();
        let stopped = |deed: &Deed| matches!(deed, Deed::Switch { before, left: Left::Stopped, .. } if *before == number);
        let mut seen = false;
        for _ in 0..500 {
            recorder.collect();
            seen = recorder.window(began, Monotonic::now()).any(|(_, _, deed)| stopped(&deed));
            if seen {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        child.kill().expect("the shell");
        child.wait().expect("the shell");
        recorder.collect();
        assert!(seen, "the shell's last switch says that it was stopped");
        let named = recorder.named(number).expect("the shell is named when it ends");
        assert!(named.name.starts_with(b"sh\0"));
        assert!(recorder.counts().all(|counts| counts.overwritten == 0 && counts.dropped == 0));
    }
}
