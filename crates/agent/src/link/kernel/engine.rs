//! The process of links in the kernel: it builds them, changes them, reads their counters, and ends when a
//! part has vanished, so that its supervisor sets the ports down.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::announced::Announced;
use delaylab_os::clock;
use delaylab_proto::{Failure, Reply};
use serde_json::{Value, json};

use super::can::Can;
use super::counted::{self, Moment};
use super::lay::Laid;
use super::plan;
use super::probe::probe;
use crate::link::control::asked::{Asked, Changed};
use crate::link::control::messages::{say_why, send};
use crate::link::control::port_drops::PortDrops;
use crate::link::control::ports::set_ports;
use crate::link::control::serve::{Carries, serve};
use crate::link::control::timeline::Timeline;
use crate::link::plan::{Change, Links};
use crate::timing::lateness::Summary;
use crate::timing::pace::Watched;

/// Run this process, from its first message (`{}`, or the reason why links could not be built) until the
/// supervisor's end of `control` closes. Then set the ports down: if a part of the links vanished later, no
/// supervisor would be left to do so.
pub fn live(links: &Links, asked: Asked, control: OwnedFd) -> Result<(), Failure> {
    let mut control = File::from(control);
    let mut engine = match Engine::start(links, asked) {
        Ok(engine) => engine,
        Err(failure) => return send(&mut control, &Reply::Error(failure)),
    };
    send(&mut control, &Reply::Done(json!({})))?;
    let timeline = Timeline::new(&links.timeline, clock::monotonic_ns());
    let served = serve(&mut engine, timeline, &mut control);
    if let Err(failure) = &served {
        say_why(&mut control, failure);
    }
    served.and(set_ports(links, false))
}

struct Engine<'a> {
    links: &'a Links,
    asked: Asked,
    can: Can,
    laid: Laid,
    announced: Announced,
    /// The time at which counting began, and the counters at that time.
    since_ns: i64,
    before: Moment,
    port_drops: PortDrops,
}

impl<'a> Engine<'a> {
    fn start(links: &'a Links, asked: Asked) -> Result<Self, Failure> {
        let can = probe()?;
        let laid = Laid::new(links, plan::wants(links, &asked, &can)?)?;
        let announced = Announced::open()
            .map_err(|error| Failure::new("watch the links in the kernel", error))?;
        let (since_ns, before) = (clock::realtime_ns(), Moment::read(&laid)?);
        let port_drops = PortDrops::read()?;
        Ok(Self { links, asked, can, laid, announced, since_ns, before, port_drops })
    }
}

impl Carries for Engine<'_> {
    fn check(&mut self) -> Result<(), Failure> {
        // Clear first: a notification that comes from now on triggers the next check.
        self.announced
            .clear()
            .map_err(|error| Failure::new("watch the links in the kernel", error))?;
        match counted::vanished(&self.laid)? {
            Some(what) => Err(Failure::new("carry links by the kernel", what)),
            None => Ok(()),
        }
    }

    fn changed(&self) -> Option<BorrowedFd<'_>> {
        Some(self.announced.as_fd())
    }

    fn directions(&mut self) -> Result<Vec<Value>, Failure> {
        self.reports(&Moment::read(&self.laid)?)
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), Failure> {
        let mut asked = self.asked.clone();
        let changed = asked.change(changes)?;
        // If a direction changes several times, only the final conditions count.
        let last: BTreeMap<_, _> = changed
            .into_iter()
            .map(|Changed { direction, conditions }| (direction, conditions))
            .collect();
        let mut wanted = Vec::new();
        for (direction, conditions) in last {
            let want = plan::want(self.links, &asked, &self.can, direction, &conditions)?;
            let want = want.keeping(&self.laid.ways[direction].want);
            self.laid.check(direction, &want)?;
            wanted.push((direction, want));
        }
        for (direction, want) in wanted {
            self.laid.change(direction, want)?;
        }
        self.asked = asked;
        Ok(())
    }

    fn report(&mut self, reset: bool) -> Result<Value, Failure> {
        let now = Moment::read(&self.laid)?;
        let directions = self.reports(&now)?;
        let (since_ns, now_ns) = (self.since_ns, clock::realtime_ns());
        if reset {
            (self.since_ns, self.before, self.port_drops) = (now_ns, now, PortDrops::read()?);
        }
        Ok(json!({
            "state": "running", "why": null, "pid": std::process::id(), "realtime": false,
            "notes": self.laid.notes(), "since_ns": since_ns, "now_ns": now_ns,
            "memory": {"used": 0, "bound": self.links.memory_bytes, "peak": 0, "warn": false},
            "pauses": {"count": 0, "longest_ns": 0}, "floor": Watched::default(), "dropped_ring": 0, "unknown_port": 0,
            "late": Summary::default(), "directions": directions,
        }))
    }
}

impl Engine<'_> {
    /// Return the report of each direction up to a moment.
    fn reports(&self, now: &Moment) -> Result<Vec<Value>, Failure> {
        let drops = PortDrops::read()?;
        let numbered = self.asked.directions().iter().zip(&self.laid.ways).enumerate();
        let reports = numbered.map(|(number, (direction, way))| {
            let done = now.since(&self.before, number, way);
            let port_dropped = drops.since(&self.port_drops, &direction.port);
            let mut report = direction.report(&done, port_dropped);
            // The kernel does not count these.
            for what in ["duplicated", "corrupted", "reordered"] {
                report[what] = Value::Null;
            }
            report
        });
        Ok(reports.collect())
    }
}
