//! The programs outside of the lab that took most CPU time (`proc_pid_stat(5)`, `pid_namespaces(7)`).

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Samples;
use super::machine::PLACE;

/// All processes are read at most this often: a process costs about 10 µs.
const EVERY: Duration = Duration::from_secs(1);
/// Reading them takes at most a hundredth of one CPU.
const REST: u32 = 100;
/// The number of programs that a reading names.
const NAMED: usize = 3;
/// The least CPUs that a named program took: two ticks of a second.
const LEAST: f64 = 0.02;
/// The kernel's ticks per second in `/proc` (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;
/// The most parents of a process that are looked at.
const DEPTH: usize = 64;

/// A process by its number and when it started, which together belong to one process only.
type Id = (u32, u64);

/// Process as `/proc/PID/stat` describes it.
#[derive(Debug, PartialEq)]
struct Stat {
    id: Id,
    /// Its name, with `_` for what no name of a metric may have.
    name: String,
    parent: u32,
    ticks: u64,
}

/// The processes' CPU time at the last reading.
pub(super) struct Programs {
    /// PID namespaces of the lab: what is in one, or comes from one, is the lab's own.
    lab: Vec<PathBuf>,
    last: HashMap<Id, u64>,
    read: Instant,
    due: Instant,
}

impl Programs {
    /// Start from the current state; `agents` are processes of the lab.
    pub(super) fn new(agents: impl Iterator<Item = u32>) -> Self {
        let now = Instant::now();
        let lab = agents.filter_map(namespace).filter(|found| namespace(1).as_ref() != Some(found));
        let last = stats().into_iter().map(|stat| (stat.id, stat.ticks)).collect();
        Self { lab: lab.collect(), last, read: now, due: now + EVERY }
    }

    /// Add the CPUs that the busiest programs took since the last reading, if one is due, and the number of
    /// processes, which marks that there was a reading.
    pub(super) fn sample(&mut self, samples: &mut Samples) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
        let stats = stats();
        let passed = now.duration_since(self.read).as_secs_f64() * TICKS_PER_SECOND;
        let mut took: Vec<(f64, &Stat)> = stats
            .iter()
            .map(|stat| {
                // A process that is new has taken all its time since the last reading.
                let before = self.last.get(&stat.id).copied().unwrap_or(0);
                (stat.ticks.saturating_sub(before) as f64 / passed, stat)
            })
            .filter(|(cpus, _)| *cpus >= LEAST)
            .collect();
        took.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let parents = stats.iter().map(|stat| (stat.id.0, stat.parent)).collect();
        let outside = took.iter().filter(|(_, stat)| !self.is_inside(stat.id.0, &parents));
        for (cpus, stat) in outside.take(NAMED) {
            samples.add(PLACE, format!("program.{}.{}", stat.id.0, stat.name), *cpus);
        }
        samples.add(PLACE, "processes", stats.len() as f64);
        self.last = stats.iter().map(|stat| (stat.id, stat.ticks)).collect();
        self.read = now;
        self.due = now + EVERY.max(now.elapsed() * REST);
    }

    /// Return true for a process of the lab: it, or a parent, is in the lab's PID namespace.
    fn is_inside(&self, pid: u32, parents: &HashMap<u32, u32>) -> bool {
        let chain = std::iter::successors(Some(pid), |pid| parents.get(pid).copied());
        chain.take(DEPTH).filter_map(namespace).any(|found| self.lab.contains(&found))
    }
}

fn namespace(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

/// Return all processes; one that ends meanwhile is left out.
fn stats() -> Vec<Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// Parse `PID (NAME) STATE PPID …`. A name may have any bytes, and so parentheses, too.
fn parse(pid: u32, text: &[u8]) -> Option<Stat> {
    let text = String::from_utf8_lossy(text);
    let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // `rest` begins with field 3 of the manual page.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        id: (pid, number(22)?),
        name: name.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).collect(),
        parent: u32::try_from(number(4)?).ok()?,
        ticks: number(14)? + number(15)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_any_characters() {
        let rest = "S 7 1 1 0 -1 4194560 0 0 0 0 120 30 9 9 20 0 1 0 555 0 0";
        let stat = parse(42, format!("42 (a) (b\n) {rest}").as_bytes());
        let name = "a)_(b_".to_owned();
        assert_eq!(stat, Some(Stat { id: (42, 555), name, parent: 7, ticks: 150 }));
        assert_eq!(parse(42, b"42 (a"), None);
        assert_eq!(parse(42, b"42 (a) S 7"), None);
    }

    #[test]
    fn a_process_and_its_parents_are_known() {
        let own = std::process::id();
        let all = stats();
        let this = all.iter().find(|stat| stat.id.0 == own).unwrap();
        assert!(all.iter().any(|stat| stat.id.0 == this.parent));
        let parents = all.iter().map(|stat| (stat.id.0, stat.parent)).collect();
        let lab = vec![namespace(own).unwrap()];
        let now = Instant::now();
        let programs = Programs { lab, last: HashMap::new(), read: now, due: now };
        assert!(programs.is_inside(own, &parents));
        let nobody = Programs { lab: Vec::new(), ..programs };
        assert!(!nobody.is_inside(own, &parents));
    }
}
