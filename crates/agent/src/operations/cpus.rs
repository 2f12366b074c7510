//! `cpus`: records of what each CPU of this machine did, for windows of time that a client asks for afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use delaylab_os::clock::{EpochOffset, Monotonic, Realtime};
use delaylab_os::cpus::{Deed, Left, Recorder, Task, Waker};
use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure, Frame, Kind, Table};

use super::drops::NamedDrops;
use super::retransmissions::PlacedRetransmissions;
use super::tasks::Names;
use crate::protocol::cpus::{Cpus, CpusDone, RecordedCpu, Window};
use crate::protocol::running::{Event, Order};
use crate::session::Session;

/// The time between two copies of what is new: the rings hold a second or more.
const EVERY: Duration = Duration::from_millis(100);
/// The most tasks that are looked up at each copy.
const MOST_NEW: usize = 50;
/// The most records in a part of a table.
const PART: usize = 100_000;

/// Record until `stop`; answer each order `window` with the tables `cpus`, `tasks` and `retransmissions`, and `drops`
/// with the table `drops`.
pub(super) fn serve(request: Cpus, session: &mut Session) -> Result<CpusDone, Failure> {
    let began = EpochOffset::read();
    let mut recorder =
        Recorder::start(request.keep as usize).context("what CPUs do cannot be recorded")?;
    // Some were recorded since the first program ran.
    let before = switches().saturating_sub(recorded_switches(&mut recorder));
    let (mut names, mut drops) = (Names::default(), NamedDrops::start());
    let mut retransmissions = PlacedRetransmissions::start();
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
                        let table = retransmissions.between(&window, EpochOffset::read());
                        session.frame(&Frame::new(Kind::Table, table.encode()))?;
                        session.event(&Event::Recorded(window))?;
                    }
                    Order::Drops(window) => {
                        let table = drops.between(&window, EpochOffset::read());
                        session.frame(&Frame::new(Kind::Table, table.encode()))?;
                        session.event(&Event::Recorded(window))?;
                    }
                    _ => {}
                }
            }
        }
        if Instant::now() >= due {
            recorder.collect();
            drops.collect();
            retransmissions.collect();
            // A task that ends soon would be unknown later.
            let new = recorder.take_new(MOST_NEW);
            names.look_up(new, &recorder);
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
    CpusDone { clock_set_ns: (EpochOffset::read() - began).ns(), cpus: cpus.collect(), switches }
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
    let table = names.of(tasks, recorder);
    session.frame(&Frame::new(Kind::Table, table.encode()))
}

/// Return the tasks that are named in a record.
fn tasks(deed: &Deed) -> Vec<Task> {
    match deed {
        Deed::Switch { before, after, .. } => vec![*before, *after],
        Deed::Waking { woken, running, .. } => vec![*woken, *running],
        Deed::Signal { to, from, .. } => vec![*to, *from],
        Deed::Reclaim { task, .. } => vec![*task],
        Deed::Softirq { .. } | Deed::Interrupt { .. } | Deed::Stolen { .. } => Vec::new(),
    }
}

/// One row of the table `cpus`; what a record has no value for is 0.
#[derive(Default)]
struct Row {
    what: &'static str,
    how: Option<&'static str>,
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
                how: Some(how(left)),
                task: after,
                other: before,
                number: switches,
                length_ns: long(ran_ns),
                softirqs: interrupted.softirqs,
                interrupts: interrupted.interrupts,
            },
            Deed::Waking { woken, running, by } => Self {
                what: "waking",
                how: Some(waker(by)),
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
            Deed::Reclaim { task, took_ns } => {
                Self { what: "reclaim", task, length_ns: long(took_ns), ..Self::default() }
            }
            Deed::Stolen { until_now_ns } => {
                Self { what: "stolen", length_ns: long(until_now_ns), ..Self::default() }
            }
        }
    }
}

/// Return in a word what woke a task.
fn waker(by: Waker) -> &'static str {
    match by {
        Waker::Task => "task",
        Waker::Timer => "timer",
        Waker::Interrupt => "interrupt",
        Waker::Network => "network",
        Waker::Softirq => "softirq",
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
        Left::Throttled => "throttled",
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
        .texts("how", rows.iter().map(|row| row.how))
        .numbers("task", rows.iter().map(|row| row.task))
        .numbers("other", rows.iter().map(|row| row.other))
        .numbers("number", rows.iter().map(|row| row.number))
        .numbers("length_ns", rows.iter().map(|row| row.length_ns))
        .numbers("softirqs", rows.iter().map(|row| row.softirqs))
        .numbers("interrupts", rows.iter().map(|row| row.interrupts))
}

/// Return the switches that were recorded, or counted as hidden, until now.
fn recorded_switches(recorder: &mut Recorder) -> u64 {
    recorder.collect();
    recorder.counts().map(|counts| counts.switches + counts.unseen).sum()
}

/// Return the switches of all CPUs since the machine was started, as the kernel counts them (proc_stat(5)).
fn switches() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("ctxt "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}
