//! The thread that answers for the loop: it keeps the configuration, limits senders at their interfaces, and
//! gives commands to the loop.

use delaylab_proto::Failure;

use super::report::{Period, PortDrops};
use super::requests::LinkEngine;
use crate::link::configured::{Changed, ConfiguredConditions, DirectionConfig};
use crate::link::data::loop_commands::{LoopAnswer, LoopCommand, LoopHandle};
use crate::link::data::sender_limits::SenderLimits;
use crate::protocol::links::{DirectionReport, EngineReport, Pauses};
use crate::timing::lateness::Lateness;

/// An engine as its clients see it.
pub(super) struct ControlThread<'a> {
    pub configured: ConfiguredConditions,
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
        Ok(())
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
            notes: self.notes.clone(),
            memory,
            pauses: Pauses { count: totals.pauses, longest_ns: totals.longest_pause_ns },
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
        self.limits.change(&self.configured.all())
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
            let port_dropped = now.since(&self.port_drops, &direction.port);
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
