//! The engine's process: the loop, and beside it a thread that serves requests, so that reading them and
//! writing answers costs the loop no time.
//! The thread beside it answers for the loop: it keeps the configuration, limits senders at their interfaces, and
//! gives commands to the loop.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::thread;

use delaylab_os::clock::Monotonic;
use delaylab_os::process::memory::Locked;
use delaylab_os::process::{going_on, open_files, scheduling};
use delaylab_proto::{Context, Failure};

use super::carriers::Carriers;
use super::passages;
use super::ports::take_ports_down;
use super::report::{Period, PortDrops};
use super::requests::{LinkEngine, Timeline, say_ready, say_refused, say_why, serve_requests};
use super::task::EngineTask;
use crate::link::configured::{Changed, ConfiguredConditions, DirectionConfig};
use crate::link::data::commands::{self, LoopAnswer, LoopChannels, LoopCommand, LoopHandle};
use crate::link::data::forward::Forwarder;
use crate::link::data::sender_limits::SenderLimits;
use crate::protocol::links::{DirectionReport, EngineLinks, EngineReport, Pauses};
use crate::protocol::passages::{PassageReport, WantedPacket};
use crate::timing::lateness::Lateness;
use crate::timing::pace::Pace;

/// Run the engine, from its first message (`{}`, or the reason why it could not start) until the supervisor's
/// end of `control` closes. Then set the ports down: if the engine ended later, no supervisor would be left
/// to do so. The loop runs on the CPUs of `task`, if any are named. `again` means in place of an engine that
/// has ended.
pub(super) fn live(
    task: EngineTask,
    configured: ConfiguredConditions,
    again: bool,
    control: OwnedFd,
) -> Result<(), Failure> {
    let EngineTask { links, cpus, .. } = task;
    let mut control = File::from(control);
    let started = start(task, configured).and_then(|started| {
        let requests = control.try_clone();
        Ok((started, requests.context("start the link engine")?))
    });
    let ((forwarder, mut pace, channels, control_thread), requests) = match started {
        Ok(started) => started,
        Err(failure) => return say_refused(&mut control, failure),
    };
    thread::scope(|scope| {
        let (apart, begin) = mpsc::channel();
        let (begun, first) = mpsc::channel();
        scope.spawn(move || {
            // Descriptors opened before this point would also stay open in the loop's own table, for good.
            let _ = begin.recv();
            take_requests(control_thread, links, again, requests, &begun);
        });
        open_files::part();
        let _ = apart.send(());
        if let Err(failure) = first.recv().unwrap_or_else(|_| Err(LoopHandle::ended())) {
            let told = say_refused(&mut control, failure);
            std::process::exit(i32::from(told.is_err()));
        }
        let ended = bind(cpus).and_then(|()| {
            say_ready(&mut control)?;
            forwarder.run(&mut pace, &channels)
        });
        if let Err(failure) = &ended {
            say_why(&mut control, failure);
        }
        std::process::exit(i32::from(ended.is_err()))
    })
}

/// Run the thread beside the loop: report whether it could start, then serve requests. Ends the process.
fn take_requests(
    mut control_thread: ControlThread,
    links: &EngineLinks,
    again: bool,
    mut requests: File,
    begun: &mpsc::Sender<Result<(), Failure>>,
) {
    // The loop is the thread that must be on time.
    let alone = going_on::leave_to_others().context("start the link engine");
    let first = alone.and_then(|()| control_thread.begin(again));
    let refused = first.is_err();
    // The loop waits for this message, unless the process has ended.
    let _ = begun.send(first);
    if refused {
        return;
    }
    let timeline = Timeline::new(&links.timeline, Monotonic::now());
    let served = serve_requests(&mut control_thread, timeline, &mut requests);
    let lowered = take_ports_down(links);
    std::process::exit(i32::from(served.and(lowered).is_err()));
}

/// Bind the calling thread only: the other thread could starve beside it.
fn bind(cpus: Option<&[usize]>) -> Result<(), Failure> {
    cpus.map_or(Ok(()), scheduling::set_affinity).context("bind the link engine to its CPUs")
}

type Started<'a> = (Forwarder, Pace, LoopChannels, ControlThread<'a>);

fn start(task: EngineTask<'_>, configured: ConfiguredConditions) -> Result<Started<'_>, Failure> {
    let links = task.links;
    let limits = SenderLimits::new(links, task.agents);
    let forwarder = Forwarder::open(links, configured.conditions())?;
    let (forwarding, channels) = commands::pair().context("start the link engine")?;
    // The thread is bound to its CPUs only later, when the other thread exists.
    let own = task.cpus.map_or_else(scheduling::own_cpus, <[usize]>::len);
    let (pace, refused) = Pace::new(links.realtime, own);
    let mut notes: Vec<String> =
        refused.map(|why| format!("not in real time: {why}")).into_iter().collect();
    match Locked::as_used() {
        // Keep the lock for as long as the process lives.
        Ok(locked) => std::mem::forget(locked),
        Err(error) => notes.push(format!("its memory may be paged out: {error}")),
    }
    if let Some(why) = forwarder.why_undivided() {
        notes.push(format!("a flood on one link may keep out frames of the others: {why}"));
    }
    let (realtime, period) = (pace.is_realtime(), Period::begin());
    let port_drops = PortDrops::read()?;
    let control_thread = ControlThread {
        configured,
        carriers: Carriers::new(links, task.place, |_, _| Ok(())),
        limits,
        forwarding,
        realtime,
        notes,
        period,
        port_drops,
    };
    Ok((forwarder, pace, channels, control_thread))
}

/// An engine as its clients see it.
pub(super) struct ControlThread<'a> {
    pub configured: ConfiguredConditions,
    pub carriers: Carriers<'a>,
    pub limits: SenderLimits<'a>,
    pub forwarding: LoopHandle,
    pub realtime: bool,
    /// The features that were not available, with the reason.
    pub notes: Vec<String>,
    /// The period over which frames are counted.
    pub period: Period,
    pub port_drops: PortDrops,
}

impl LinkEngine for ControlThread<'_> {
    fn directions(&mut self) -> Result<Vec<DirectionReport>, Failure> {
        Ok(self.read(false)?.0)
    }

    fn configured(&self) -> &ConfiguredConditions {
        &self.configured
    }

    fn apply(
        &mut self,
        configured: ConfiguredConditions,
        changed: Vec<Changed>,
    ) -> Result<(), Failure> {
        self.limits.change(&changed)?;
        self.configured = configured;
        for Changed { direction, conditions } in changed {
            self.forwarding
                .command(LoopCommand::Change { direction, conditions: Box::new(conditions) })?;
        }
        self.carriers.settle(&self.configured)
    }

    fn ease(&mut self, eased: bool) -> Result<(), Failure> {
        self.forwarding.command(LoopCommand::Ease { eased })
    }

    fn passages(&mut self, packets: &[WantedPacket]) -> Result<Vec<PassageReport>, Failure> {
        passages::find(packets, &self.forwarding, self.configured.directions())
    }

    fn report(&mut self, reset: bool) -> Result<EngineReport, Failure> {
        let (directions, late) = self.read(reset)?;
        self.forwarding.command(LoopCommand::ReadTotals { reset })?;
        let LoopAnswer::Totals(totals, memory, cpu_noise) = self.forwarding.answer()? else {
            return Err(LoopHandle::ended());
        };
        let (since_ns, now_ns) = self.period.until_now(reset);
        if reset {
            self.configured.begin_count();
        }
        Ok(EngineReport {
            realtime: self.realtime,
            notes: self.notes.iter().cloned().chain(self.carriers.notes()).collect(),
            memory,
            pauses: Pauses { count: totals.pauses, longest_ns: totals.longest_pause.ns() },
            cpu_noise,
            dropped_ring: totals.dropped_ring,
            unknown_port: totals.unknown_port,
            late: Some(late.summary()),
            ..EngineReport::running(since_ns, now_ns, directions)
        })
    }
}

impl ControlThread<'_> {
    /// Limit senders as initially configured. With `again`, first release those that an ended engine limited.
    pub(super) fn begin(&mut self, again: bool) -> Result<(), Failure> {
        if again {
            self.limits.release_all();
        }
        self.limits.change(&self.configured.all())?;
        if again {
            self.carriers.settle(&self.configured)
        } else {
            self.carriers.begin(&self.configured)
        }
    }

    /// Return the report of each direction and the lateness of all frames; with `reset`, reset the counters.
    fn read(&mut self, reset: bool) -> Result<(Vec<DirectionReport>, Lateness), Failure> {
        for direction in 0..self.configured.directions().len() {
            self.forwarding.command(LoopCommand::Read { direction, reset })?;
        }
        let now = PortDrops::read()?;
        let mut late = Lateness::default();
        let report = |(number, direction): (usize, &DirectionConfig)| {
            let LoopAnswer::Direction(mut snapshot) = self.forwarding.answer()? else {
                return Err(LoopHandle::ended());
            };
            late.add(&snapshot.counts.late);
            let (frames, bytes) = self.limits.waiting(number);
            snapshot.waiting = (snapshot.waiting.0 + frames, snapshot.waiting.1 + bytes);
            // A port's drops are reported once.
            let port_dropped = match direction.receives {
                false => now.since(&self.port_drops, &direction.port),
                true => 0,
            };
            Ok(DirectionReport::new(direction, &snapshot, port_dropped))
        };
        let reports: Result<_, _> =
            self.configured.directions().iter().enumerate().map(report).collect();
        if reset {
            self.port_drops = now;
        }
        Ok((reports?, late))
    }
}
