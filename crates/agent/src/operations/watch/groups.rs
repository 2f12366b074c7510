//! The control groups outside of the lab that took most CPU time (`cgroups(7)`).
//!
//! A group counts all that ran in it, also what was started and had ended between two readings. Its own share is
//! its time less that of the groups below it, so that no time counts twice.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::machine::PLACE;
use super::{LEAST, Samples, seconds};
use crate::fabric::{SHARED, counting_hierarchies};

/// The levels below the root that are looked at. A group of the last one counts what is below it, too.
const LEVELS: usize = 4;
/// The most groups that are read. What runs in others counts for the group above them.
const MOST: usize = 500;
/// The number of groups that a reading names.
const NAMED: usize = 4;
/// The most characters of a name, of the 100 of a metric: its last ones, which tell groups apart.
const LONGEST: usize = 94;

/// The CPU time in seconds of each group since it was made, by its path below the root.
#[derive(Debug, Default, PartialEq)]
struct Used {
    groups: BTreeMap<PathBuf, f64>,
    /// True if all groups of the levels were read: one that is new in the next reading was made since then.
    complete: bool,
}

/// A hierarchy that counts CPU time, and what it had counted at the last reading.
struct Hierarchy {
    root: PathBuf,
    /// The name of the file in each group that has its CPU time.
    file: &'static str,
    last: Used,
    read: Instant,
}

/// The control groups' CPU time at the last reading.
pub(super) struct Groups(Vec<Hierarchy>);

impl Groups {
    /// Start from the current state.
    pub(super) fn new() -> Self {
        let found = counting_hierarchies().into_iter();
        Self(found.map(|(root, file)| Hierarchy::new(root, file)).collect())
    }

    /// Add the CPUs that the busiest groups took since the last reading. Groups with a process that is `inside`
    /// the lab are left out. A process is in a group of each hierarchy: only the hierarchy that explains most of
    /// the time is named, or the time would count twice.
    pub(super) fn sample(&mut self, samples: &mut Samples, inside: impl Fn(u32) -> bool) {
        let mut named: Vec<(f64, PathBuf)> = Vec::new();
        for hierarchy in &mut self.0 {
            let found = hierarchy.busiest(&inside);
            if total(&found) > total(&named) {
                named = found;
            }
        }
        for (cpus, path) in named {
            samples.add(PLACE, format!("group.{}", name(&path)), cpus);
        }
    }
}

fn total(groups: &[(f64, PathBuf)]) -> f64 {
    groups.iter().map(|(cpus, _)| cpus).sum()
}

impl Hierarchy {
    fn new(root: PathBuf, file: &'static str) -> Self {
        let last = used(&root, file);
        Self { root, file, last, read: Instant::now() }
    }

    /// Return the groups that took most CPU time since the last call, each with the CPUs that it kept busy.
    fn busiest(&mut self, inside: impl Fn(u32) -> bool) -> Vec<(f64, PathBuf)> {
        let (now, read) = (used(&self.root, self.file), Instant::now());
        let passed = read.duration_since(self.read).as_secs_f64();
        let mut found: Vec<(f64, PathBuf)> = own_shares(&now, &self.last)
            .into_iter()
            .map(|(seconds, path)| (seconds / passed, path))
            .filter(|(cpus, path)| *cpus >= LEAST && !processes(&self.root.join(path)).any(&inside))
            .collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        found.truncate(NAMED);
        (self.last, self.read) = (now, read);
        found
    }
}

/// Read the CPU time of all groups below a root, but not of those below delaylab's.
fn used(root: &Path, file: &str) -> Used {
    let mut found = Used { complete: true, ..Used::default() };
    let mut level = vec![PathBuf::new()];
    for _ in 0..LEVELS {
        let mut below = Vec::new();
        for group in level.iter().filter(|group| !is_labs(group)).flat_map(|of| children(root, of))
        {
            let file = root.join(&group).join(file);
            // A group that is removed meanwhile is left out.
            let text = fs::read_to_string(&file).unwrap_or_default();
            let Some(seconds) = seconds(&file, &text) else { continue };
            if found.groups.len() == MOST {
                found.complete = false;
                return found;
            }
            found.groups.insert(group.clone(), seconds);
            below.push(group);
        }
        level = below;
    }
    found
}

/// Return the groups in a group, in the order of their names: if there are too many, the same ones are read.
fn children(root: &Path, group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(group)).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut found: Vec<PathBuf> = folders.map(|entry| group.join(entry.file_name())).collect();
    found.sort();
    found
}

/// Return true if a group is the parent of all labs' groups.
fn is_labs(group: &Path) -> bool {
    group.ends_with(SHARED)
}

/// Return the seconds that each group took itself since the last reading, but not those of the labs.
fn own_shares(now: &Used, last: &Used) -> Vec<(f64, PathBuf)> {
    let took = |(group, used): (&PathBuf, &f64)| match last.groups.get(group) {
        Some(before) if before <= used => used - before,
        // Another group has the name now.
        Some(_) => *used,
        None if last.complete => *used,
        None => 0.0,
    };
    let mut below: HashMap<&Path, f64> = HashMap::new();
    for group in &now.groups {
        *below.entry(group.0.parent().unwrap_or(Path::new(""))).or_default() += took(group);
    }
    let outside = now.groups.iter().filter(|(group, _)| !is_labs(group));
    let own = |group| took(group) - below.get(group.0.as_path()).copied().unwrap_or(0.0);
    outside.map(|group| (own(group).max(0.0), group.0.clone())).collect()
}

fn processes(group: &Path) -> impl Iterator<Item = u32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    pids.into_iter()
}

/// Return a group's path as a part of a metric's name, which is no longer than [`LONGEST`].
fn name(group: &Path) -> String {
    let path = group.to_string_lossy();
    let plain = |c: char| if c.is_ascii_graphic() { c } else { '_' };
    let all: Vec<char> = path.chars().map(plain).collect();
    all[all.len().saturating_sub(LONGEST)..].iter().collect()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// A tree of groups that is removed at the end.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("groups-{name}-{}", std::process::id())))
        }

        fn set(&self, group: &str, file: &str, text: &str) -> io::Result<()> {
            fs::create_dir_all(self.0.join(group))?;
            fs::write(self.0.join(group).join(file), text)
        }

        fn set_us(&self, group: &str, us: u64) -> io::Result<()> {
            self.set(group, "cpu.stat", &format!("usage_usec {us}\nuser_usec 1\n"))
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn own(now: &Used, last: &Used) -> BTreeMap<String, f64> {
        own_shares(now, last).into_iter().map(|(seconds, path)| (name(&path), seconds)).collect()
    }

    fn expected<const N: usize>(groups: [(&str, f64); N]) -> BTreeMap<String, f64> {
        groups.into_iter().map(|(name, seconds)| (name.to_owned(), seconds)).collect()
    }

    #[test]
    fn no_time_counts_twice_and_labs_are_left_out() -> io::Result<()> {
        let tree = Tree::new("twice");
        tree.set_us("system.slice", 5_000_000)?;
        tree.set_us("system.slice/cron.service", 4_000_000)?;
        tree.set_us("user/delaylab", 1_000_000)?;
        tree.set_us("user/delaylab/lab.7", 1_000_000)?;
        tree.set_us("user", 2_000_000)?;
        let last = used(&tree.0, "cpu.stat");
        assert!(last.complete && !last.groups.contains_key(Path::new("user/delaylab/lab.7")));
        // cron's group took 1 s, one that was made since then 0.5 s, and one that is gone again 0.25 s.
        tree.set_us("system.slice", 6_750_000)?;
        tree.set_us("system.slice/cron.service", 5_000_000)?;
        tree.set_us("system.slice/new", 500_000)?;
        tree.set_us("user/delaylab", 3_000_000)?;
        tree.set_us("user", 4_000_000)?;
        let now = used(&tree.0, "cpu.stat");
        let groups = [
            ("system.slice", 0.25),
            ("system.slice/cron.service", 1.0),
            ("system.slice/new", 0.5),
            ("user", 0.0),
        ];
        assert_eq!(own(&now, &last), expected(groups));
        let cut = Used { complete: false, ..last };
        assert_eq!(own(&now, &cut)["system.slice/new"], 0.0);
        Ok(())
    }

    #[test]
    fn version_1_counts_and_a_name_may_have_another_group() -> io::Result<()> {
        let tree = Tree::new("v1");
        tree.set("a", "cpuacct.usage", "9000000000\n")?;
        let last = used(&tree.0, "cpuacct.usage");
        tree.set("a", "cpuacct.usage", "2000000000\n")?;
        tree.set("b", "other", "")?;
        let now = used(&tree.0, "cpuacct.usage");
        assert_eq!(own(&now, &last), expected([("a", 2.0)]));
        Ok(())
    }

    #[test]
    fn deep_groups_count_for_the_last_level_and_the_lab_is_not_named() -> io::Result<()> {
        let tree = Tree::new("deep");
        for group in ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "lab"] {
            tree.set_us(group, 0)?;
        }
        let mut hierarchy = Hierarchy::new(tree.0.clone(), "cpu.stat");
        for group in ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "lab"] {
            tree.set_us(group, 60_000_000)?;
        }
        tree.set("lab", "cgroup.procs", "12\n34\n")?;
        tree.set("a/b/c/d", "cgroup.procs", "56\n")?;
        let named = hierarchy.busiest(|pid| pid == 34);
        assert_eq!(
            named.iter().map(|(_, path)| path.as_path()).collect::<Vec<_>>(),
            [Path::new("a/b/c/d")]
        );
        assert_eq!(hierarchy.busiest(|_| false), []);
        Ok(())
    }

    #[test]
    fn names_are_plain_and_short() {
        assert_eq!(name(Path::new("a b/ü")), "a_b/_");
        let long = format!("{}/end", "x".repeat(300));
        assert_eq!(name(Path::new(&long)).len(), LONGEST);
        assert!(name(Path::new(&long)).ends_with("x/end"));
    }
}
