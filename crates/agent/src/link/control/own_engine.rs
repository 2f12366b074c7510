//! The engine's process: the loop, and beside it a thread that serves requests, so that reading them and
//! writing answers costs the loop no time.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::thread;

use delaylab_os::clock;
use delaylab_os::process::memory::Locked;
use delaylab_os::process::{open_files, scheduling};
use delaylab_proto::{Context, Failure};

use super::control_thread::ControlThread;
use super::engine_task::EngineTask;
use super::messages::{say_ready, say_refused, say_why};
use super::ports::set_ports;
use super::report::{Period, PortDrops};
use super::requests::{Timeline, serve_requests};
use crate::link::configured::ConfiguredConditions;
use crate::link::data::forward::Forwarder;
use crate::link::data::loop_commands::{self, LoopChannels, LoopHandle};
use crate::link::data::sender_limits::SenderLimits;
use crate::protocol::links::EngineLinks;
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
    let first = control_thread.begin(again);
    let refused = first.is_err();
    // The loop waits for this message, unless the process has ended.
    let _ = begun.send(first);
    if refused {
        return;
    }
    let timeline = Timeline::new(&links.timeline, clock::monotonic_ns());
    let served = serve_requests(&mut control_thread, timeline, &mut requests);
    let lowered = set_ports(links, false);
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
    let (forwarding, channels) = loop_commands::pair().context("start the link engine")?;
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
    let control_thread =
        ControlThread { configured, limits, forwarding, realtime, notes, period, port_drops };
    Ok((forwarder, pace, channels, control_thread))
}
