//! The tasks of a machine: their processes and names, and what they are a part of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::successors;
use std::os::unix::fs::MetadataExt;

use delaylab_os::clock::Monotonic;
use delaylab_os::cpus::{Recorder, Task};
use delaylab_proto::Table;

/// The most tasks that are remembered.
const MOST_TASKS: usize = 100_000;
/// The most processes between one and the first of its lab.
const DEPTH: usize = 64;
/// The first processes of a lab's parts have one of these in front of the part's name.
const PARTS: [&str; 3] = ["node.", "link.", "host."];

/// A task's identity. Texts are empty where nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Who {
    process: Task,
    name: String,
    /// The control group that its CPU time counts for.
    group: String,
    /// The origin of its process; `None` if it ended before it was looked up.
    origin: Option<Origin>,
}

/// The origin of a process: the lab, and the part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The lab that it runs in.
    pub(super) lab: String,
    /// The part of the lab, such as `node.one` or `link.here`.
    pub(super) place: String,
    /// True if it is an agent.
    agent: bool,
}

/// Tasks that were looked up, so that one that has ended since is still known.
#[derive(Default)]
pub(super) struct Names(BTreeMap<Task, (Monotonic, Who)>);

impl Names {
    /// Return who these tasks are as the table `tasks`; those that nobody knows any more are left out.
    pub(super) fn of(&mut self, tasks: BTreeSet<Task>, recorder: &Recorder) -> Table {
        self.look_up(tasks.iter().copied(), recorder);
        let known = |task| Some((task, self.0.get(&task)?.1.clone()));
        let found: Vec<(Task, Who)> = tasks.into_iter().filter_map(known).collect();
        Table::new("tasks", found.len())
            .numbers("task", found.iter().map(|(task, _)| *task))
            .numbers("process", found.iter().map(|(_, who)| who.process))
            .texts("name", found.iter().map(|(_, who)| some(&who.name)))
            .flags("placed", found.iter().map(|(_, who)| who.origin.is_some()))
            .texts("lab", found.iter().map(|(_, who)| some(&who.origin.as_ref()?.lab)))
            .texts("place", found.iter().map(|(_, who)| some(&who.origin.as_ref()?.place)))
            .flags(
                "agent",
                found.iter().map(|(_, who)| who.origin.as_ref().is_some_and(|it| it.agent)),
            )
            .texts("group", found.iter().map(|(_, who)| some(&who.group)))
    }

    /// Look tasks up, unless what is known of them holds still: /proc is read once for each task and name.
    pub(super) fn look_up(&mut self, tasks: impl IntoIterator<Item = Task>, recorder: &Recorder) {
        if self.0.len() > MOST_TASKS {
            self.0.clear();
        }
        for task in tasks.into_iter().filter(|task| *task != 0) {
            let named = recorder.named(task);
            let known = self.0.get(&task);
            let holds = |(at, _): &&(Monotonic, Who)| named.is_none_or(|named| named.until < *at);
            if known.filter(holds).is_some() {
                continue;
            }
            let now = Monotonic::now();
            if let Some(who) = Who::running(task) {
                self.0.insert(task, (now, who));
            } else if let Some(named) = named {
                // What it was a part of is known if it was seen before it ended, or if its process runs still.
                let before = known.map(|(_, who)| who.clone());
                let who = before.or_else(|| self.by_maker(task, recorder)).unwrap_or_default();
                let name = named.name.split(|byte| *byte == 0).next().unwrap_or_default();
                let name = String::from_utf8_lossy(name).into_owned();
                self.0.insert(task, (now, Who { process: named.process, name, ..who }));
            }
        }
    }

    /// Return who a task was that ended before it was looked up: its process, or one that made it, is still known.
    fn by_maker(&self, task: Task, recorder: &Recorder) -> Option<Who> {
        let process = recorder.named(task).map_or(task, |named| named.process);
        let makers = successors(Some(process), |task| Some(recorder.begun(*task)?.maker));
        makers.take(DEPTH).find_map(|maker| {
            let known = || Some(self.0.get(&maker)?.1.clone());
            let mut who = Who::running(maker).or_else(known)?;
            who.origin.as_mut()?.agent &= maker == process;
            Some(who)
        })
    }
}

impl Who {
    /// Return who a task is that runs still.
    fn running(task: Task) -> Option<Self> {
        let status = read(task, "status")?;
        let process = field(&status, "Tgid:")?.parse().ok()?;
        let name = read(task, "comm")?.trim_end().to_owned();
        let groups = read(task, "cgroup").unwrap_or_default();
        let origin = Some(Origin::of(process));
        Some(Self { process, name, group: group(&groups).to_owned(), origin })
    }
}

impl Origin {
    /// Return what a process is a part of, by the processes that started it.
    pub(super) fn of(process: Task) -> Self {
        let mut found = Self { agent: is_agent(process), ..Self::default() };
        let mut number = process;
        for _ in 0..DEPTH {
            let (Some(status), Some(line)) = (read(number, "status"), read(number, "cmdline"))
            else {
                break;
            };
            // An agent in a lab has written its title over its words, with spaces between. The supervisor of a node's
            // program is a child of the lab's keeper, and says whose it is.
            let words: Vec<&str> = line.trim_end_matches('\0').split(['\0', ' ']).collect();
            if words[0].ends_with("delaylab-agent") {
                let part = words.get(1).copied().unwrap_or_default();
                if found.place.is_empty() && PARTS.iter().any(|each| part.starts_with(each)) {
                    part.clone_into(&mut found.place);
                }
                if let ["program", .., "of", node] = words[1..] {
                    node.clone_into(&mut found.place);
                }
                if part == "lab" {
                    found.lab = words.get(2).copied().unwrap_or_default().to_owned();
                    break;
                }
            }
            match field(&status, "PPid:").and_then(|parent| parent.parse().ok()) {
                Some(parent) if parent > 1 => number = parent,
                _ => break,
            }
        }
        found
    }
}

/// Return true if a process runs this program: as the first one of a virtual machine it has another name.
fn is_agent(process: Task) -> bool {
    let program = |of: &str| {
        let file = fs::metadata(format!("/proc/{of}/exe")).ok()?;
        Some((file.dev(), file.ino()))
    };
    let own = program("self");
    own.is_some() && own == program(&process.to_string())
}

/// Return a file of a task in /proc; `None` once it has ended.
fn read(task: Task, file: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{task}/{file}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Return a value of `/proc/PID/status`.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Return a text, or `None` for an empty one.
fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Return the path of the group that counts CPU time, in the text of `/proc/PID/cgroup` (cgroups(7)).
fn group(text: &str) -> &str {
    let lines = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let of_cpu = |(names, _): &(&str, &str)| names.split(',').any(|name| name == "cpu");
    let unified = |(names, _): &(&str, &str)| names.is_empty();
    lines().find(of_cpu).or_else(|| lines().find(unified)).map_or("", |(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_the_one_that_counts_cpu_time() {
        let first = "5:cpu,cpuacct:/lab/node\n3:memory:/other\n0::/unified\n";
        assert_eq!(group(first), "/lab/node");
        assert_eq!(group("0::/user.slice\n"), "/user.slice");
        assert_eq!(group("3:cpuset:/x\n"), "");
    }

    #[test]
    fn this_process_is_known_by_its_name() {
        let who = Who::running(std::process::id()).expect("it runs");
        assert_eq!(who.process, std::process::id());
        assert!(!who.name.is_empty());
    }
}
