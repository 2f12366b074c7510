//! The engine's process: the loop, and beside it a thread that takes requests, so that reading them and
//! writing answers takes the loop no time.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc;
use std::thread;

use delaylab_link::Conditions;

use delaylab_os::sched::{self, Locked};
use delaylab_os::{clock, pipe, process};
use delaylab_proto::{Failure, Reply};
use serde_json::{Value, json};

use super::asked::{Asked, Changed, Direction};
use super::child::Work;
use super::forward::{Ends, Forwarder};
use super::gates::Gates;
use super::orders::{Answer, Order};
use super::plan::Change;
use super::port_drops::PortDrops;
use super::serve::{Carries, serve};
use super::timeline::Timeline;
use crate::lateness::Lateness;
use crate::pace::Pace;

/// The life of the engine, from its first message (`{}`, or why it could not start) until the
/// supervisor's end of `control` closes. Then it takes the ports down: without a supervisor nobody
/// else would, should it end as well. Forwards on these CPUs, if any are named; `again`: in place of
/// one that has ended.
pub fn live(work: Work, asked: Asked, again: bool, control: OwnedFd) -> Result<(), Failure> {
    let Work { links, cpus, .. } = work;
    let mut control = File::from(control);
    let started = start(work, asked, again).and_then(|started| {
        let requests = control.try_clone();
        Ok((started, requests.map_err(|error| Failure::new("start the link engine", error))?))
    });
    let ((forwarder, mut pace, ends, mut engine), mut requests) = match started {
        Ok(started) => started,
        Err(failure) => return super::send(&mut control, &Reply::Error(failure)),
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            let timeline = Timeline::new(&links.timeline, clock::monotonic_ns());
            let served = serve(&mut engine, timeline, &mut requests);
            let lowered = super::set_ports(links, false);
            std::process::exit(i32::from(served.and(lowered).is_err()));
        });
        let ended = bind(cpus).and_then(|()| {
            super::send(&mut control, &Reply::Done(json!({})))?;
            forwarder.run(&mut pace, &ends)
        });
        if let Err(failure) = &ended {
            super::say_why(&mut control, failure);
        }
        std::process::exit(i32::from(ended.is_err()))
    })
}

/// Only the calling thread: the other one could starve beside it.
fn bind(cpus: Option<&[usize]>) -> Result<(), Failure> {
    cpus.map_or(Ok(()), process::set_affinity)
        .map_err(|error| Failure::new("bind the link engine to its CPUs", error))
}

/// What answers for the loop.
struct Engine<'a> {
    asked: Asked,
    gates: Gates<'a>,
    orders: mpsc::Sender<Order>,
    answers: mpsc::Receiver<Answer>,
    wake: OwnedFd,
    realtime: bool,
    /// What could not be had.
    notes: Vec<String>,
    /// When the counts began.
    since_ns: i64,
    port_drops: PortDrops,
}

type Started<'a> = (Forwarder, Pace, Ends, Engine<'a>);

fn start<'a>(work: Work<'a>, asked: Asked, again: bool) -> Result<Started<'a>, Failure> {
    let failed = |error: io::Error| Failure::new("start the link engine", error);
    let links = work.links;
    let conditions = asked.conditions()?;
    let mut gates = Gates::new(links, work.agents);
    if again {
        gates.release_all();
    }
    gates.change(&changed_to(&conditions))?;
    let forwarder = Forwarder::open(links, conditions)?;
    let (orders, ordered) = mpsc::channel();
    let (answer, answers) = mpsc::channel();
    let (woken, wake) = pipe::pair().map_err(failed)?;
    pipe::set_nonblocking(woken.as_fd()).map_err(failed)?;
    pipe::set_nonblocking(wake.as_fd()).map_err(failed)?;
    // It is bound to its CPUs only later, when the other thread is there.
    let own = work.cpus.map_or_else(sched::own_cpus, <[usize]>::len);
    let (pace, refused) = Pace::new(links.realtime, own);
    let mut notes: Vec<String> =
        refused.map(|why| format!("not in real time: {why}")).into_iter().collect();
    match Locked::as_used() {
        // For as long as the process lives.
        Ok(locked) => std::mem::forget(locked),
        Err(error) => notes.push(format!("its memory may be paged out: {error}")),
    }
    if let Some(why) = forwarder.why_undivided() {
        notes.push(format!("a flood on one link may keep out frames of the others: {why}"));
    }
    let (realtime, since_ns) = (pace.is_realtime(), clock::realtime_ns());
    let port_drops = PortDrops::read()?;
    let ends = Ends { orders: ordered, answers: answer, wake: woken };
    let engine =
        Engine { asked, gates, orders, answers, wake, realtime, notes, since_ns, port_drops };
    Ok((forwarder, pace, ends, engine))
}

/// What is asked at first, as changes.
fn changed_to(conditions: &[Conditions]) -> Vec<Changed> {
    let all = conditions.iter().cloned().enumerate();
    all.map(|(direction, conditions)| Changed { direction, conditions }).collect()
}

impl Carries for Engine<'_> {
    fn directions(&mut self) -> Result<Vec<Value>, Failure> {
        Ok(self.read(false)?.0)
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), Failure> {
        let mut asked = self.asked.clone();
        let changed = asked.change(changes)?;
        self.gates.change(&changed)?;
        self.asked = asked;
        for Changed { direction, conditions } in changed {
            self.order(Order::Change { direction, conditions: Box::new(conditions) })?;
        }
        Ok(())
    }

    fn report(&mut self, reset: bool) -> Result<Value, Failure> {
        let (directions, late) = self.read(reset)?;
        self.order(Order::ReadWhole { reset })?;
        let Answer::Whole(whole, memory, floor) = self.answered()? else {
            return Err(out_of_step());
        };
        let since_ns = self.since_ns;
        let now_ns = clock::realtime_ns();
        if reset {
            self.since_ns = now_ns;
        }
        Ok(json!({
            "state": "running", "why": null, "pid": std::process::id(), "realtime": self.realtime,
            "notes": self.notes, "since_ns": since_ns, "now_ns": now_ns,
            "memory": {"used": memory.used, "bound": memory.bound, "peak": memory.peak,
                       "warn": memory.warn},
            "pauses": {"count": whole.pauses, "longest_ns": whole.longest_pause_ns},
            "floor": floor, "dropped_ring": whole.dropped_ring, "unknown_port": whole.unknown_port,
            "late": late.summary(), "directions": directions,
        }))
    }
}

impl Engine<'_> {
    /// What each direction did, and how late the frames of all were; with `reset` counts begin anew.
    fn read(&mut self, reset: bool) -> Result<(Vec<Value>, Lateness), Failure> {
        for direction in 0..self.asked.directions().len() {
            self.order(Order::Read { direction, reset })?;
        }
        let now = PortDrops::read()?;
        let mut late = Lateness::default();
        let report = |(number, direction): (usize, &Direction)| {
            let Answer::Direction(mut snapshot) = self.answered()? else {
                return Err(out_of_step());
            };
            late.add(&snapshot.counts.late);
            let (frames, bytes) = self.gates.waiting(number);
            snapshot.waiting = (snapshot.waiting.0 + frames, snapshot.waiting.1 + bytes);
            let port_dropped = now.since(&self.port_drops, &direction.port);
            Ok(direction.report(&snapshot, port_dropped))
        };
        let reports: Result<_, _> =
            self.asked.directions().iter().enumerate().map(report).collect();
        if reset {
            self.port_drops = now;
        }
        Ok((reports?, late))
    }

    fn order(&self, order: Order) -> Result<(), Failure> {
        self.orders.send(order).map_err(|_| out_of_step())?;
        pipe::write_some(self.wake.as_fd(), &[0])
            .map_err(|error| Failure::new("wake the link engine", error))?;
        Ok(())
    }

    fn answered(&self) -> Result<Answer, Failure> {
        self.answers.recv().map_err(|_| out_of_step())
    }
}

fn out_of_step() -> Failure {
    Failure::new("ask the link engine", "its loop has ended")
}
