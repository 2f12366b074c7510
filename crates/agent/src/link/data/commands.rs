//! Commands to the forwarding loop, and its answers: the loop serves them between frames, for the thread beside it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc;

use delaylab_link::Conditions;
use delaylab_os::clock::Span;
use delaylab_os::files::descriptor;
use delaylab_proto::{Context, Failure};

use super::direction::Snapshot;
use super::passages::{Passage, Wanted};
use crate::protocol::links::{CpuNoiseSummary, Memory};

/// A command to the loop.
pub(crate) enum LoopCommand {
    /// Change the conditions of a direction.
    Change { direction: usize, conditions: Box<Conditions> },
    /// Let frames be late, or not any more.
    Ease { eased: bool },
    /// Read the counters of one direction, and reset them with `reset`.
    Read { direction: usize, reset: bool },
    /// Find the passages of a packet.
    Passages(Wanted),
    /// Read the counters of all directions together.
    ReadTotals { reset: bool },
}

/// An answer; answers come in the order of the commands.
pub(crate) enum LoopAnswer {
    Direction(Box<Snapshot>),
    Passages(Vec<Passage>),
    Totals(Totals, Memory, CpuNoiseSummary),
}

/// The counters of all directions together.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    /// The number of pauses, in which the loop did not run while something was due.
    pub pauses: u64,
    pub longest_pause: Span,
    /// Frames that found the ring full.
    pub dropped_ring: u64,
    /// Frames of an interface that is no port.
    pub unknown_port: u64,
}

/// The loop's ends of the channels for commands and answers.
pub(crate) struct LoopChannels {
    pub commands: mpsc::Receiver<LoopCommand>,
    pub answers: mpsc::Sender<LoopAnswer>,
    /// Readable when there may be a command.
    pub wake: OwnedFd,
}

/// The control thread's end: it gives commands and gets their answers.
pub(crate) struct LoopHandle {
    commands: mpsc::Sender<LoopCommand>,
    answers: mpsc::Receiver<LoopAnswer>,
    wake: OwnedFd,
}

/// Create both ends of a loop's control.
pub(crate) fn pair() -> io::Result<(LoopHandle, LoopChannels)> {
    let (command, commands) = mpsc::channel();
    let (answer, answers) = mpsc::channel();
    let (woken, wake) = descriptor::pipe()?;
    descriptor::set_nonblocking(woken.as_fd())?;
    descriptor::set_nonblocking(wake.as_fd())?;
    let handle = LoopHandle { commands: command, answers, wake };
    Ok((handle, LoopChannels { commands, answers: answer, wake: woken }))
}

impl LoopHandle {
    /// Give a command, and wake the loop if it sleeps. An error means that the loop has ended.
    pub(crate) fn command(&self, command: LoopCommand) -> Result<(), Failure> {
        self.commands.send(command).map_err(|_| Self::ended())?;
        descriptor::write_some(self.wake.as_fd(), &[0]).context("wake the link engine")?;
        Ok(())
    }

    /// Block until the next answer.
    pub(crate) fn answer(&self) -> Result<LoopAnswer, Failure> {
        self.answers.recv().map_err(|_| Self::ended())
    }

    /// Return the failure to report once the loop has ended.
    pub(crate) fn ended() -> Failure {
        Failure::new("ask the link engine", "its loop has ended")
    }
}
