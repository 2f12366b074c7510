//! The thread that answers for the loop: it keeps the configuration, limits senders at their interfaces, and
//! gives orders to the loop.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc;

use delaylab_link::Conditions;
use delaylab_os::{clock, pipe};
use delaylab_proto::Failure;
use serde_json::{Value, json};

use super::asked::{Asked, Changed, Direction};
use super::port_drops::PortDrops;
use super::serve::Carries;
use crate::link::data::gates::Gates;
use crate::link::data::orders::{Answer, Order};
use crate::link::plan::Change;
use crate::timing::lateness::Lateness;

/// An engine as its clients see it.
pub struct Front<'a> {
    pub asked: Asked,
    pub gates: Gates<'a>,
    pub orders: mpsc::Sender<Order>,
    pub answers: mpsc::Receiver<Answer>,
    pub wake: OwnedFd,
    pub realtime: bool,
    /// The features that were not available, with the reason.
    pub notes: Vec<String>,
    /// The time at which counting began.
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
    /// Limit senders as initially configured. With `again`, first release those that an ended engine limited.
    pub fn begin(&mut self, again: bool) -> Result<(), Failure> {
        if again {
            self.gates.release_all();
        }
        self.gates.change(&changed_to(&self.asked.conditions()?))
    }

    /// Return the failure to report once the loop has ended.
    pub fn ended() -> Failure {
        Failure::new("ask the link engine", "its loop has ended")
    }

    /// Return the report of each direction and the lateness of all frames; with `reset`, reset the counters.
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

/// Return the initial conditions as changes.
fn changed_to(conditions: &[Conditions]) -> Vec<Changed> {
    let all = conditions.iter().cloned().enumerate();
    all.map(|(direction, conditions)| Changed { direction, conditions }).collect()
}
