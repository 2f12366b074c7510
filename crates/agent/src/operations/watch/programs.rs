//! The programs outside of the lab that took most CPU time (`proc_pid_stat(5)`, `pid_namespaces(7)`).
//!
//! A program is all processes of one name: eight workers of one program keep the machine busy together. Children
//! that ended between two readings have left their time to their parent, which names it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::groups::Groups;
use super::machine::PLACE;
use super::{LEAST, Samples};

/// All processes and control groups are read at most this often: each costs about 10 µs.
const EVERY: Duration = Duration::from_secs(1);
/// Reading them takes at most a hundredth of one CPU.
const REST: u32 = 100;
/// The number of programs that a reading names.
const NAMED: usize = 8;
/// The kernel's ticks per second in `/proc` (`USER_HZ`).
pub(in crate::operations) const TICKS_PER_SECOND: f64 = 100.0;
/// The most parents of a process that are looked at.
pub(in crate::operations) const DEPTH: usize = 64;

/// A process by its number and when it started, which together belong to one process only.
type Id = (u32, u64);

/// Process as `/proc/PID/stat` describes it.
#[derive(Debug, PartialEq)]
pub(in crate::operations) struct Stat {
    pub(in crate::operations) id: Id,
    /// Its name, with `_` for what no name of a metric may have.
    pub(in crate::operations) name: String,
    pub(in crate::operations) parent: u32,
    ticks: u64,
    /// The time of its children that ended, and of theirs.
    ended: u64,
    /// True if a signal has stopped it; a debugger that holds it does not count.
    pub(in crate::operations) stopped: bool,
}

/// The time of a process at the last reading.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Before {
    parent: u32,
    ticks: u64,
    ended: u64,
}

/// Program that took CPU time: the processes of a name, or their children that ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Program {
    name: String,
    ended: bool,
}

/// The ticks of a program since the last reading, and its processes.
#[derive(Debug, Default, PartialEq)]
struct Took {
    ticks: u64,
    processes: usize,
}

/// The CPU time of processes and control groups at the last reading.
pub(in crate::operations) struct Programs {
    /// PID namespaces of the lab: what is in one, or comes from one, is the lab's own.
    lab: Vec<PathBuf>,
    /// A process that is left out with all below it.
    without: Option<u32>,
    last: HashMap<Id, Before>,
    groups: Option<Groups>,
    read: Instant,
    due: Instant,
}

impl Programs {
    /// Start from the current state; `agents` are processes of the lab. A process is left out, if one is given, with
    /// all below it. What is `brief` has no control groups.
    pub(in crate::operations) fn new(
        agents: impl Iterator<Item = u32>,
        without: Option<u32>,
        brief: bool,
    ) -> Self {
        let now = Instant::now();
        let lab = agents.filter_map(namespace).filter(|found| namespace(1).as_ref() != Some(found));
        let (lab, last) = (lab.collect(), before(&stats()));
        let groups = (!brief).then(Groups::new);
        Self { lab, without, last, groups, read: now, due: now + EVERY }
    }

    /// Start from the current state, of a machine without a lab; leave out a process.
    pub(in crate::operations) fn without(process: u32) -> Self {
        Self::new(std::iter::empty(), Some(process), false)
    }

    /// Add the CPUs that the busiest programs and control groups took since the last reading, if one is due, and
    /// the number of processes, which marks that there was a reading. Return that reading.
    pub(in crate::operations) fn sample(&mut self, samples: &mut Samples) -> Option<Vec<Stat>> {
        let now = Instant::now();
        (now >= self.due).then(|| self.sample_now(samples))
    }

    /// Do as [`Self::sample`] does if a reading is due.
    pub(in crate::operations) fn sample_now(&mut self, samples: &mut Samples) -> Vec<Stat> {
        let now = Instant::now();
        let stats = stats();
        let passed = now.duration_since(self.read).as_secs_f64() * TICKS_PER_SECOND;
        let parents = stats.iter().map(|stat| (stat.id.0, stat.parent)).collect();
        let inside = |pid| is_inside(&self.lab, self.without, pid, &parents);
        let outside = |stat: &Stat| !inside(stat.id.0);
        for (cpus, program, took) in busiest(by_program(&stats, &self.last, outside), passed) {
            let processes = if program.ended { 0 } else { took.processes };
            samples.add(PLACE, format!("program.{processes}.{}", program.name), cpus);
        }
        samples.add(PLACE, "processes", stats.len() as f64);
        if let Some(groups) = &mut self.groups {
            groups.sample(samples, inside);
        }
        self.last = before(&stats);
        self.read = now;
        self.due = now + EVERY.max(now.elapsed() * REST);
        stats
    }
}

/// Return true for a process of the lab: it, or a parent, is in one of the lab's PID namespaces. Return true, too,
/// for the process that is left out and those below it.
fn is_inside(lab: &[PathBuf], without: Option<u32>, pid: u32, parents: &HashMap<u32, u32>) -> bool {
    let of_lab = |pid| !lab.is_empty() && namespace(pid).is_some_and(|found| lab.contains(&found));
    std::iter::successors(Some(pid), |pid| parents.get(pid).copied())
        .take(DEPTH)
        .any(|pid| without == Some(pid) || of_lab(pid))
}

/// Return the ticks of each program since the last reading, of processes outside of the lab.
fn by_program(
    stats: &[Stat],
    last: &HashMap<Id, Before>,
    outside: impl Fn(&Stat) -> bool,
) -> HashMap<Program, Took> {
    let alive: HashSet<Id> = stats.iter().map(|stat| stat.id).collect();
    // What a child had taken by the last reading was its own then. Its parent has all of it once it has ended.
    let mut known: HashMap<u32, u64> = HashMap::new();
    for (_, before) in last.iter().filter(|(id, _)| !alive.contains(id)) {
        *known.entry(before.parent).or_default() += before.ticks + before.ended;
    }
    let mut found: HashMap<Program, Took> = HashMap::new();
    for stat in stats {
        // A process that is new has taken all its time since the last reading.
        let before = last.get(&stat.id);
        let ticks = stat.ticks.saturating_sub(before.map_or(0, |before| before.ticks));
        let ended = stat.ended.saturating_sub(before.map_or(0, |before| before.ended));
        let ended = ended.saturating_sub(known.get(&stat.id.0).copied().unwrap_or(0));
        if ticks + ended == 0 || !outside(stat) {
            continue;
        }
        for (ticks, ended) in [(ticks, false), (ended, true)] {
            if ticks > 0 {
                let program = Program { name: stat.name.clone(), ended };
                let took = found.entry(program).or_default();
                took.ticks += ticks;
                took.processes += 1;
            }
        }
    }
    found
}

/// Return the programs that took most of the ticks that passed, each with the CPUs that it kept busy.
fn busiest(took: HashMap<Program, Took>, passed: f64) -> Vec<(f64, Program, Took)> {
    let mut found: Vec<(f64, Program, Took)> = took
        .into_iter()
        .map(|(program, took)| (took.ticks as f64 / passed, program, took))
        .filter(|(cpus, ..)| *cpus >= LEAST)
        .collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    found.truncate(NAMED);
    found
}

fn before(stats: &[Stat]) -> HashMap<Id, Before> {
    let known = |stat: &Stat| Before { parent: stat.parent, ticks: stat.ticks, ended: stat.ended };
    stats.iter().map(|stat| (stat.id, known(stat))).collect()
}

fn namespace(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

/// Return all processes; one that ends meanwhile is left out.
pub(in crate::operations) fn stats() -> Vec<Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(stat).collect()
}

/// Return a process, or None once it has ended.
pub(in crate::operations) fn stat(pid: u32) -> Option<Stat> {
    parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
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
        ended: number(16)? + number(17)?,
        stopped: fields.first() == Some(&"T"),
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
        assert_eq!(
            stat,
            Some(Stat { stopped: false, id: (42, 555), name, parent: 7, ticks: 150, ended: 18 })
        );
        assert_eq!(parse(42, b"42 (a"), None);
        assert_eq!(parse(42, b"42 (a) S 7"), None);
    }

    fn taking(pid: u32, name: &str, ticks: u64, ended: u64) -> Stat {
        Stat { id: (pid, 5), name: name.to_owned(), parent: 1, ticks, ended, stopped: false }
    }

    #[test]
    fn workers_of_one_name_are_one_program() {
        let workers: Vec<Stat> = (10..18).map(|pid| taking(pid, "worker", 35, 0)).collect();
        let all: Vec<Stat> = workers.into_iter().chain([taking(2, "other", 60, 0)]).collect();
        let found = busiest(by_program(&all, &HashMap::new(), |_| true), 100.0);
        let named: Vec<_> = found
            .iter()
            .map(|(cpus, of, took)| (*cpus, of.name.as_str(), took.processes))
            .collect();
        assert_eq!(named, [(2.8, "worker", 8), (0.6, "other", 1)]);
        assert_eq!(busiest(by_program(&all, &before(&all), |_| true), 100.0), []);
    }

    #[test]
    fn children_that_ended_are_named_by_their_parent_and_count_once() {
        let child = Stat { parent: 2, ..taking(9, "cc1", 30, 0) };
        let last = before(&[taking(2, "make", 1, 0), child]);
        // One child, seen with 30 ticks, ended at 40; another one of 50 ticks was never seen.
        let now = [taking(2, "make", 1, 90)];
        let found = by_program(&now, &last, |_| true);
        let program = Program { name: "make".to_owned(), ended: true };
        assert_eq!(found, HashMap::from([(program, Took { ticks: 60, processes: 1 })]));
        assert!(by_program(&now, &last, |_| false).is_empty());
    }

    #[test]
    fn a_process_and_its_parents_are_known() {
        let own = std::process::id();
        let all = stats();
        let this = all.iter().find(|stat| stat.id.0 == own).unwrap();
        assert!(all.iter().any(|stat| stat.id.0 == this.parent));
        let parents = all.iter().map(|stat| (stat.id.0, stat.parent)).collect();
        let lab = vec![namespace(own).unwrap()];
        assert!(is_inside(&lab, None, own, &parents));
        assert!(!is_inside(&[], None, own, &parents));
        assert!(is_inside(&[], Some(own), own, &parents));
        assert!(is_inside(&[], Some(this.parent), own, &parents));
    }
}
