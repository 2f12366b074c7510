//! `hiccups`: the times at which a spinning thread on each CPU did not run, and what the machine did meanwhile.
//!
//! All CPUs are watched at the same time and throughout. One after the other would miss what comes once a minute,
//! and a program that may run anywhere would move to a CPU that is not watched. The threads have ordinary
//! scheduling, as programs in a lab have: whatever takes a CPU from them takes it from a lab, too.

mod interrupts;
mod meter;
mod takers;
mod throttling;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use delaylab_os::clock::{EpochOffset, Monotonic};
use delaylab_os::process::scheduling;
use delaylab_proto::{Context, Failure, Table};

use self::interrupts::Interrupts;
use self::meter::{Hiccup, Meter, SIZES_NS};
use self::takers::Takers;
use self::throttling::Throttled;
use super::tables;
use super::watch::machine::{MachineSample, PLACE};
use super::watch::programs::Programs;
use super::watch::{Samples, now, wait_until};
use crate::protocol::hiccups::{CpuHiccups, Hiccups, HiccupsDone};
use crate::protocol::running::Event;
use crate::session::Session;

/// The time between two readings of what the machine does.
const INTERVAL: Duration = Duration::from_secs(1);
/// A reading takes at most a hundredth of the time.
const REST: u32 = 100;
/// The most hiccups of a CPU that are kept.
const MOST: u32 = 10_000;

/// State that the spinning threads share with the thread that serves the session.
struct Shared {
    ended: AtomicBool,
    /// Odd while the machine is read; it grows at the beginning and the end of each reading.
    reading: AtomicU64,
}

/// The end of the spinning threads, which its drop brings about, also after a failure.
struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

/// A spinning thread's CPU, and the time that it has lost so far.
struct Spinner {
    cpu: usize,
    lost_ns: AtomicU64,
}

/// Spin until `stop`, and send the tables `hosts` and `hiccups`.
pub(super) fn serve(request: Hiccups, session: &mut Session) -> Result<HiccupsDone, Failure> {
    if request.longest > MOST {
        let why = format!("`longest` is {}, not at most {MOST}", request.longest);
        return Err(Failure::new("hiccups", why));
    }
    let most = request.longest as usize;
    let cpus = scheduling::usable_cpus().context("find the CPUs that may be used")?;
    let spinners: Vec<Spinner> =
        cpus.into_iter().map(|cpu| Spinner { cpu, lost_ns: AtomicU64::new(0) }).collect();
    let shared = Shared { ended: AtomicBool::new(false), reading: AtomicU64::new(1) };
    let (offset, _) = EpochOffset::read_exactly();
    let mut machine = Machine::new()?;
    let began_ns = now()?;
    let (interrupts, throttled) = (Interrupts::read(), Throttled::read());
    let mut samples = Samples::default();
    let shared = &shared;
    let meters = thread::scope(|scope| {
        let ending = Ending(shared);
        let start = |spinner| scope.spawn(move || spin(spinner, shared, most));
        let threads: Vec<_> = spinners.iter().map(start).collect();
        session.event(&Event::READY)?;
        machine.watch(shared, &spinners, &mut samples, session)?;
        drop(ending);
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<Meter>, Failure>>()
    })?;
    let ended_ns = now()?;
    let later = Interrupts::read();
    let throttled = Throttled::read().since(throttled);
    samples.send(session)?;
    let mut found = Vec::new();
    let mut longest = Vec::new();
    for (spinner, meter) in spinners.iter().zip(meters) {
        let cpu = u32::try_from(spinner.cpu).context("number a CPU")?;
        let (watched_ns, lost_ns, counts) = (meter.watched_ns, meter.lost_ns, meter.counts);
        let kept = meter.into_longest();
        found.push(CpuHiccups {
            cpu,
            watched_ns,
            lost_ns,
            longest_ns: kept.first().map_or(0, |hiccup| hiccup.took_ns),
            counts: counts.to_vec(),
            interrupts: later.on(cpu, &interrupts),
        });
        longest.extend(kept.into_iter().take(most).map(|hiccup| (cpu, hiccup)));
    }
    send(session, &longest, offset)?;
    Ok(HiccupsDone {
        began_ns,
        ended_ns,
        sizes_ns: SIZES_NS.to_vec(),
        cpus: found,
        throttled: throttled.times,
        throttled_ns: throttled.ns,
        interrupts: later.most(&interrupts),
    })
}

/// Read the clock on one CPU until the end.
fn spin(spinner: &Spinner, shared: &Shared, most: usize) -> Result<Meter, Failure> {
    let cpu = spinner.cpu;
    scheduling::set_affinity(&[cpu]).with_context(|| format!("spin on CPU {cpu}"))?;
    let reading = || shared.reading.load(Ordering::Acquire);
    // One is always kept, since the longest is in the answer.
    let began = reading();
    let mut meter = Meter::new(Monotonic::now(), began, most.max(1));
    while !shared.ended.load(Ordering::Relaxed) {
        let before = reading();
        let now = Monotonic::now();
        let lost_ns = meter.add(now, (before, reading()));
        if lost_ns > 0 {
            spinner.lost_ns.fetch_add(lost_ns, Ordering::Relaxed);
        }
    }
    Ok(meter)
}

/// The state of the machine at the last reading.
struct Machine {
    cpus: MachineSample,
    programs: Programs,
    takers: Takers,
    /// The time until the next reading.
    rest: Duration,
}

impl Machine {
    /// Start from the current state; this process is left out.
    fn new() -> Result<Self, Failure> {
        let own = std::process::id();
        Ok(Self {
            cpus: MachineSample::new(false)?,
            programs: Programs::without(own),
            takers: Takers::new(own),
            rest: INTERVAL,
        })
    }

    /// Read the machine until the client stops it. The first reading is under way.
    fn watch(
        &mut self,
        shared: &Shared,
        spinners: &[Spinner],
        samples: &mut Samples,
        session: &mut Session,
    ) -> Result<(), Failure> {
        let mut lost = vec![0; spinners.len()];
        loop {
            shared.reading.fetch_add(1, Ordering::AcqRel);
            let going = wait_until(Instant::now() + self.rest, session);
            shared.reading.fetch_add(1, Ordering::AcqRel);
            let began = Instant::now();
            samples.start(now()?);
            self.cpus.sample(samples)?;
            self.programs.sample_now(samples);
            self.takers.sample(samples);
            for (spinner, before) in spinners.iter().zip(&mut lost) {
                let now_ns = spinner.lost_ns.load(Ordering::Relaxed);
                let lost_ns = now_ns - std::mem::replace(before, now_ns);
                samples.add(PLACE, format!("cpu{}.lost", spinner.cpu), lost_ns as f64 / 1e9);
            }
            samples.send_if_large(session)?;
            self.rest = INTERVAL.max(began.elapsed() * REST);
            if !going? {
                return Ok(());
            }
        }
    }
}

fn send(
    session: &mut Session,
    longest: &[(u32, Hiccup)],
    offset: EpochOffset,
) -> Result<(), Failure> {
    tables::in_parts(session, longest.iter(), |rows| {
        Table::new("hiccups", rows.len())
            .numbers("cpu", rows.iter().map(|(cpu, _)| *cpu))
            .numbers("time_ns", rows.iter().map(|(_, hiccup)| offset.realtime(hiccup.began).ns()))
            .numbers("took_ns", rows.iter().map(|(_, hiccup)| hiccup.took_ns.cast_signed()))
    })
}
