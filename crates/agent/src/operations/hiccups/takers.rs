//! The programs that took time of each CPU (`proc_pid_stat(5)`).

use std::collections::HashMap;
use std::fs;

use crate::operations::watch::Samples;
use crate::operations::watch::machine::PLACE;
use crate::operations::watch::programs::{TICKS_PER_SECOND, stats};

/// A thread by its number and when it started.
type Id = (u32, u64);

/// A thread at one reading.
struct Thread {
    id: Id,
    ticks: u64,
    /// The CPU that it ran on last.
    cpu: u32,
}

/// The CPU time of all threads at the last reading, but those of one process.
pub(super) struct Takers {
    without: u32,
    last: HashMap<Id, u64>,
}

impl Takers {
    /// Start from the current state, and leave out a process.
    pub(super) fn new(without: u32) -> Self {
        let mut takers = Self { without, last: HashMap::new() };
        takers.read();
        takers
    }

    /// Add the seconds that each program took of each CPU since the last reading. Those of a thread count for the CPU
    /// that it ran on last.
    pub(super) fn sample(&mut self, samples: &mut Samples) {
        for ((cpu, name), ticks) in self.read() {
            let metric = format!("cpu{cpu}.program.{name}");
            samples.add(PLACE, metric, ticks as f64 / TICKS_PER_SECOND);
        }
    }

    /// Return the ticks of each program on each CPU since the last reading.
    fn read(&mut self) -> HashMap<(u32, String), u64> {
        let (mut now, mut found) = (HashMap::new(), HashMap::new());
        for process in stats().into_iter().filter(|stat| stat.id.0 != self.without) {
            for thread in threads(process.id.0) {
                // One that is new has taken all its time since the last reading.
                let before = self.last.get(&thread.id).copied().unwrap_or(0);
                let took = thread.ticks.saturating_sub(before);
                now.insert(thread.id, thread.ticks);
                if took > 0 {
                    *found.entry((thread.cpu, process.name.clone())).or_default() += took;
                }
            }
        }
        self.last = now;
        found
    }
}

fn threads(process: u32) -> impl Iterator<Item = Thread> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        parse(id, &fs::read(entry.path().join("stat")).ok()?)
    })
}

/// Parse `TID (NAME) STATE PPID …`, where a name may have any bytes.
fn parse(id: u32, text: &[u8]) -> Option<Thread> {
    let text = String::from_utf8_lossy(text);
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    // They begin with field 3 of the manual page.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let cpu = u32::try_from(number(39)?).ok()?;
    Some(Thread { id: (id, number(22)?), ticks: number(14)? + number(15)?, cpu })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_time_and_its_cpu() {
        let zeros = "0 ".repeat(16);
        let text = format!("7 (a) b)) R 1 1 1 0 -1 4 0 0 0 0 12 3 9 9 20 0 1 0 555 {zeros}3 0");
        let thread = parse(7, text.as_bytes()).unwrap();
        assert_eq!((thread.id, thread.ticks, thread.cpu), ((7, 555), 15, 3));
        assert!(parse(7, b"7 (a) R 1").is_none());
    }
}
