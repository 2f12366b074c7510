//! What answers for the loop: it keeps what is asked, holds senders as that says, and gives the loop orders.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc;

use delaylab_link::Conditions;
use delaylab_os::{clock, pipe};
use delaylab_proto::Failure;
use serde_json::{Value, json};

use super::asked::{Asked, Changed, Direction};
use super::gates::Gates;
use super::orders::{Answer, Order};
use super::plan::Change;
use super::port_drops::PortDrops;
use super::serve::Carries;
use crate::lateness::Lateness;

/// An engine, as those see it who ask it.
pub struct Front<'a> {
    pub asked: Asked,
    pub gates: Gates<'a>,
    pub orders: mpsc::Sender<Order>,
    pub answers: mpsc::Receiver<Answer>,
    pub wake: OwnedFd,
    pub realtime: bool,
    /// What could not be had.
    pub notes: Vec<String>,
    /// When the counts began.
    pub since_ns: i64,
    pub port_drops: PortDrops,
}

impl Carries for Front<'_> {
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
            return Err(Self::ended());
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

impl Front<'_> {
    /// Holds senders as is asked at first; with `again` releases those that an engine held which has ended.
    pub fn begin(&mut self, again: bool) -> Result<(), Failure> {
        if again {
            self.gates.release_all();
        }
        self.gates.change(&changed_to(&self.asked.conditions()?))
    }

    /// Why nothing is answered any more.
    pub fn ended() -> Failure {
        Failure::new("ask the link engine", "its loop has ended")
    }

    /// What each direction did, and how late the frames of all were; with `reset` counts begin anew.
    fn read(&mut self, reset: bool) -> Result<(Vec<Value>, Lateness), Failure> {
        for direction in 0..self.asked.directions().len() {
            self.order(Order::Read { direction, reset })?;
        }
        let now = PortDrops::read()?;
        let mut late = Lateness::default();
        let report = |(number, direction): (usize, &Direction)| {
            let Answer::Direction(mut snapshot) = self.answered()? else {
                return Err(Self::ended());
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
        self.orders.send(order).map_err(|_| Self::ended())?;
        pipe::write_some(self.wake.as_fd(), &[0])
            .map_err(|error| Failure::new("wake the link engine", error))?;
        Ok(())
    }

    fn answered(&self) -> Result<Answer, Failure> {
        self.answers.recv().map_err(|_| Self::ended())
    }
}

/// What is asked at first, as changes.
fn changed_to(conditions: &[Conditions]) -> Vec<Changed> {
    let all = conditions.iter().cloned().enumerate();
    all.map(|(direction, conditions)| Changed { direction, conditions }).collect()
}
