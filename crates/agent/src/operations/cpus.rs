//! `cpus`: what each CPU of this machine did, for windows of time that a client asks for after they have passed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use delaylab_os::clock::{EpochOffset, Monotonic, Realtime};
use delaylab_os::cpus::{Deed, Left, Recorder, Task};
use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure, Frame, Kind, Table};

use crate::protocol::cpus::{Cpus, CpusDone, RecordedCpu, Window};
use crate::protocol::running::{Event, Order};
use crate::session::Session;

/// The time between two copies of what is new: the rings hold a second or more.
const EVERY: Duration = Duration::from_millis(100);
/// The most records in a part of a table.
const PART: usize = 100_000;
/// The most tasks that are remembered.
const MOST_TASKS: usize = 100_000;

/// Record until `stop`, and answer each order `window` with the tables `cpus` and `tasks`.
pub(super) fn serve(request: Cpus, session: &mut Session) -> Result<CpusDone, Failure> {
    let began = EpochOffset::read();
    let mut recorder = Recorder::start(request.keep as usize).context("record what CPUs do")?;
    let before = switches();
    let mut names = Names::default();
    session.event(&Event::READY)?;
    let mut due = Instant::now() + EVERY;
    loop {
        let left = due.saturating_duration_since(Instant::now());
        let ready = poll::wait(&[(session.input(), Interest::Read)], Some(left));
        if ready.context("wait for the next copy")?[0] {
            for order in session.orders()? {
                match order {
                    Order::Stop | Order::Closed => return Ok(done(recorder, began, before)),
                    Order::Window(window) => {
                        recorder.collect();
                        answer(&recorder, &mut names, &window, session)?;
                    }
                    _ => {}
                }
            }
        }
        if Instant::now() >= due {
            recorder.collect();
            due = Instant::now() + EVERY;
        }
    }
}

/// Return what was recorded, after the last records were copied.
fn done(mut recorder: Recorder, began: EpochOffset, before: u64) -> CpusDone {
    let switches = switches() - before;
    recorder.collect();
    let cpus = recorder.counts().enumerate().map(|(cpu, counts)| RecordedCpu {
        cpu: cpu as u32,
        records: counts.records,
        switches: counts.switches,
        unseen: counts.unseen,
        overwritten: counts.overwritten,
        dropped: counts.dropped,
    });
    CpusDone {
        clock_set_ns: (EpochOffset::read() - began).ns(),
        cpus: cpus.collect(),
        switches,
    }
}

/// Send what the CPUs did in a window, and who the tasks were.
fn answer(
    recorder: &Recorder,
    names: &mut Names,
    window: &Window,
    session: &mut Session,
) -> Result<(), Failure> {
    let offset = EpochOffset::read();
    let at = |ns| offset.monotonic(Realtime::from_ns(ns));
    let deeds: Vec<_> = recorder.window(at(window.from_ns), at(window.to_ns)).collect();
    for part in deeds.chunks(PART) {
        let table = table(part, offset);
        session.frame(&Frame::new(Kind::Table, table.encode()))?;
    }
    let tasks: BTreeSet<Task> = deeds.iter().flat_map(|(_, _, deed)| tasks(deed)).collect();
    let table = names.of(&tasks, recorder);
    session.frame(&Frame::new(Kind::Table, table.encode()))
}

/// Return the tasks that are named in a record.
fn tasks(deed: &Deed) -> Vec<Task> {
    match deed {
        Deed::Switch { before, after, .. } => vec![*before, *after],
        Deed::Waking { woken, running, .. } => vec![*woken, *running],
        Deed::Signal { to, from, .. } => vec![*to, *from],
        Deed::Softirq { .. } | Deed::Interrupt { .. } | Deed::Stolen { .. } => Vec::new(),
    }
}

/// One row of the table `cpus`; what a record has no value for is 0.
#[derive(Default)]
struct Row {
    what: &'static str,
    how: &'static str,
    task: Task,
    other: Task,
    number: u32,
    length_ns: i64,
    softirqs: u32,
    interrupts: u32,
}

impl Row {
    fn of(deed: &Deed) -> Self {
        let long = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        match *deed {
            Deed::Switch { before, after, left, switches, ran_ns, interrupted } => Self {
                what: "switch",
                how: how(left),
                task: after,
                other: before,
                number: switches,
                length_ns: long(ran_ns),
                softirqs: interrupted.softirqs,
                interrupts: interrupted.interrupts,
            },
            Deed::Waking { woken, running, by_interrupt } => Self {
                what: "waking",
                how: if by_interrupt { "interrupt" } else { "task" },
                task: woken,
                other: running,
                ..Self::default()
            },
            Deed::Softirq { number, took_ns } => {
                Self { what: "softirq", number, length_ns: long(took_ns), ..Self::default() }
            }
            Deed::Interrupt { number, took_ns } => {
                Self { what: "interrupt", number, length_ns: long(took_ns), ..Self::default() }
            }
            Deed::Signal { signal, to, from } => {
                Self { what: "signal", task: to, other: from, number: signal, ..Self::default() }
            }
            Deed::Stolen { until_now_ns } => {
                Self { what: "stolen", length_ns: long(until_now_ns), ..Self::default() }
            }
        }
    }
}

/// Return in a word how a task left its CPU.
fn how(left: Left) -> &'static str {
    match left {
        Left::Runnable => "runnable",
        Left::Asleep => "asleep",
        Left::Blocked => "blocked",
        Left::Stopped => "stopped",
        Left::Ended => "ended",
    }
}

/// Return records as a table, or as a part of one.
fn table(records: &[(u16, Monotonic, Deed)], offset: EpochOffset) -> Table {
    let rows: Vec<Row> = records.iter().map(|(_, _, deed)| Row::of(deed)).collect();
    let time_ns = records.iter().map(|(_, time, _)| offset.realtime(*time).ns());
    Table::new("cpus", rows.len())
        .numbers("time_ns", time_ns)
        .numbers("cpu", records.iter().map(|(cpu, _, _)| *cpu))
        .texts("what", rows.iter().map(|row| Some(row.what)))
        .texts("how", rows.iter().map(|row| Some(row.how)))
        .numbers("task", rows.iter().map(|row| row.task))
        .numbers("other", rows.iter().map(|row| row.other))
        .numbers("number", rows.iter().map(|row| row.number))
        .numbers("length_ns", rows.iter().map(|row| row.length_ns))
        .numbers("softirqs", rows.iter().map(|row| row.softirqs))
        .numbers("interrupts", rows.iter().map(|row| row.interrupts))
}

/// Who a task is: its process, its name, and the control group that its CPU time counts for.
#[derive(Clone, Default)]
struct Who {
    process: Task,
    name: String,
    group: String,
}

/// Tasks that were looked up, so that one that has ended since is still known.
#[derive(Default)]
struct Names(BTreeMap<Task, Who>);

impl Names {
    /// Return who these tasks are as the table `tasks`; those that nobody knows any more are left out.
    fn of(&mut self, tasks: &BTreeSet<Task>, recorder: &Recorder) -> Table {
        let mut found = Vec::new();
        for task in tasks.iter().copied().filter(|task| *task != 0) {
            if let Some(who) = Who::running(task) {
                self.0.insert(task, who);
            } else if let Some(named) = recorder.named(task) {
                let group = self.0.get(&task).map(|who| who.group.clone()).unwrap_or_default();
                let name = named.name.split(|byte| *byte == 0).next().unwrap_or_default();
                let name = String::from_utf8_lossy(name).into_owned();
                self.0.insert(task, Who { process: named.process, name, group });
            }
            if let Some(who) = self.0.get(&task) {
                found.push((task, who.clone()));
            }
        }
        if self.0.len() > MOST_TASKS {
            self.0.clear();
        }
        Table::new("tasks", found.len())
            .numbers("task", found.iter().map(|(task, _)| *task))
            .numbers("process", found.iter().map(|(_, who)| who.process))
            .texts("name", found.iter().map(|(_, who)| Some(who.name.as_str())))
            .texts("group", found.iter().map(|(_, who)| Some(who.group.as_str())))
    }
}

impl Who {
    /// Return who a task is that runs still.
    fn running(task: Task) -> Option<Self> {
        let read = |file| fs::read_to_string(format!("/proc/{task}/{file}")).ok();
        let status = read("status")?;
        let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
        let name = read("comm")?.trim_end().to_owned();
        let groups = read("cgroup").unwrap_or_default();
        Some(Self { process: process.trim().parse().ok()?, name, group: group(&groups).to_owned() })
    }
}

/// Return the path of the group that counts CPU time, in the text of `/proc/PID/cgroup` (cgroups(7)).
fn group(text: &str) -> &str {
    let lines = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let of_cpu = |(names, _): &(&str, &str)| names.split(',').any(|name| name == "cpu");
    let unified = |(names, _): &(&str, &str)| names.is_empty();
    lines().find(of_cpu).or_else(|| lines().find(unified)).map_or("", |(_, path)| path)
}

/// Return the switches of all CPUs since the machine was started, as the kernel counts them (proc_stat(5)).
fn switches() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("ctxt "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
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
