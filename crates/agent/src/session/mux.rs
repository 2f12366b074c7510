//! Multiplexing of many sessions over one stream by channel numbers, e.g. over a machine's serial line.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Failure, Frame, FrameError, Kind, Refusal, Reply};
use serde::de::IgnoredAny;

use super::line::Line;
use super::listen;
use crate::protocol::running::Event;

/// The number of unsent bytes on the trunk above which branches have to wait.
const BACKLOG: usize = 1 << 20;
/// The number of bytes that a client may leave unread before it is disconnected: frames of the others come by
/// the same stream. Commands are asked to stay far below it (`window` in docs/protocol.md), but a guest need
/// not comply.
const UNREAD: usize = 256 << 20;

/// The shared stream, the `trunk`, and a `branch` for every session.
pub(crate) struct Mux {
    trunk: Line,
    limited: bool,
    /// The time for which a frame on the trunk may stop in the middle; `None` for ever.
    patience: Option<Duration>,
    /// The time of the last bytes from the trunk, if they ended in the middle of a frame.
    unfinished: Option<Instant>,
    /// True once a write to the trunk has failed: its other end has gone.
    gone: bool,
    branches: BTreeMap<u16, Branch>,
}

/// A channel in use; it is free again once both sides have closed it.
struct Branch {
    line: Option<Line>,
    closed_here: bool,
    closed_there: bool,
}

/// The events of one wait.
#[derive(Default)]
pub(crate) struct Turn {
    /// True for each of the caller's own descriptors that is ready.
    pub ready: Vec<bool>,
    /// Frames on channels that have no branch. Only one side may answer a close there: two would never stop.
    pub new: Vec<Frame>,
    /// True if the other end of the trunk has closed.
    pub ended: bool,
    /// The number of bytes read from the trunk.
    pub read: usize,
}

impl Mux {
    /// Build a mux over a stream, without branches.
    pub(crate) fn new(trunk: OwnedFd) -> io::Result<Self> {
        Line::of(trunk).map(Self::on)
    }

    /// Build a mux over any kind of line, without branches.
    pub(crate) fn on(trunk: Line) -> Self {
        let branches = BTreeMap::new();
        let (patience, unfinished) = (None, None);
        Self { trunk, limited: false, patience, unfinished, gone: false, branches }
    }

    /// Keep at most `window` bytes under way on the trunk. The other side reports on channel 0 how many bytes
    /// it has read ([`told_read`]).
    pub(crate) fn limit(&mut self, window: u64) {
        self.limited = true;
        self.trunk.limit(window);
    }

    /// Fail if a frame on the trunk stops in the middle for so long. Its header may be forged, and what other
    /// sessions are answered would be taken for its payload.
    pub(crate) fn expect_whole_frames(&mut self, patience: Duration) {
        self.patience = Some(patience);
    }

    /// Send a frame on the trunk. This succeeds even if the trunk's other end has gone: a later turn reports the
    /// end, once all that the other end sent has been read.
    pub(crate) fn send(&mut self, frame: &Frame) -> Result<(), Failure> {
        match self.trunk.send(frame) {
            Err(FrameError::Io(_)) => {
                self.gone = true;
                Ok(())
            }
            sent => sent.map_err(broken),
        }
    }

    /// Connect a session's stream to a channel.
    pub(crate) fn join(&mut self, channel: u16, stream: OwnedFd) -> io::Result<()> {
        let line = Some(Line::of(stream)?);
        self.branches.insert(channel, Branch { line, closed_here: false, closed_there: false });
        Ok(())
    }

    /// Connect a client's stream to a free channel. Refuse the client if there is none.
    pub(crate) fn admit(&mut self, client: OwnedFd) {
        let channel =
            self.free_channel().ok_or_else(|| io::Error::other("all channels are in use"));
        let joined = channel.and_then(|channel| self.join(channel, client.try_clone()?));
        if let Err(error) = joined {
            listen::refuse(client, &listen::cannot_start(&error));
        }
    }

    /// Report a failure on a channel that has no branch, and close the channel.
    pub(crate) fn refuse(&mut self, channel: u16, failure: &Failure) -> Result<(), Failure> {
        let reply = serde_json::to_vec(&Refusal::Error(failure.clone())).unwrap_or_default();
        self.send(&Frame { channel, ..Frame::new(Kind::Message, reply) })?;
        let refused = Branch { line: None, closed_here: false, closed_there: false };
        self.branches.insert(channel, refused);
        self.close(channel)
    }

    /// Return true if a channel is in use.
    pub(crate) fn has(&self, channel: u16) -> bool {
        self.branches.contains_key(&channel)
    }

    /// Return a free channel, from 1 on.
    fn free_channel(&self) -> Option<u16> {
        (1..=u16::MAX).find(|channel| !self.branches.contains_key(channel))
    }

    /// Pass a frame from the trunk to its branch.
    pub(crate) fn deliver(&mut self, frame: &Frame) -> Result<(), Failure> {
        let Some(branch) = self.branches.get_mut(&frame.channel) else { return Ok(()) };
        if frame.kind == Kind::Close {
            branch.closed_there = true;
            return self.close_if_done(frame.channel);
        }
        let Some(line) = &mut branch.line else { return Ok(()) };
        // A session needs no channel number on a stream of its own.
        let sent = line.send(&Frame { channel: 0, ..frame.clone() });
        if sent.is_err() || line.backlog() > UNREAD {
            return self.close(frame.channel);
        }
        Ok(())
    }

    /// Wait for an event on the streams or on the caller's own descriptors, and pass all frames on. A timeout
    /// of `None` waits for ever.
    pub(crate) fn turn(
        &mut self,
        own: &[(BorrowedFd<'_>, Interest)],
        timeout: Option<Duration>,
    ) -> Result<Turn, Failure> {
        let busy = self.trunk.backlog() > BACKLOG;
        let mut on = own.to_vec();
        on.push((self.trunk.input(), Interest::Read));
        on.extend(self.trunk.output().map(|fd| (fd, Interest::Write)));
        let mut readable = BTreeMap::new();
        for (&channel, branch) in &self.branches {
            let Some(line) = &branch.line else { continue };
            if !busy && !branch.closed_there {
                readable.insert(on.len(), channel);
                on.push((line.input(), Interest::Read));
            }
            on.extend(line.output().map(|fd| (fd, Interest::Write)));
        }
        let until = self.patience.zip(self.unfinished).map(|(patience, since)| since + patience);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let at_once = self.gone.then_some(Duration::ZERO);
        let timeout = timeout.into_iter().chain(left).chain(at_once).min();
        let ready = poll::wait(&on, timeout).map_err(broken)?;
        let mut turn = Turn { ready: ready[..own.len()].to_vec(), ..Turn::default() };
        self.flush();
        if ready[own.len()] {
            self.take_from_trunk(&mut turn)?;
        } else if until.is_some_and(|until| until <= Instant::now()) {
            return Err(broken(io::Error::other("its other end stopped in the middle of a frame")));
        }
        for (index, channel) in readable {
            if ready[index] {
                self.take_from_branch(channel)?;
            }
        }
        turn.ended |= self.gone && !ready[own.len()];
        Ok(turn)
    }

    fn flush(&mut self) {
        self.gone |= self.trunk.flush().is_err();
        let channels: Vec<u16> = self.branches.keys().copied().collect();
        for channel in channels {
            if let Some(line) = self.branches.get_mut(&channel).and_then(|b| b.line.as_mut())
                && line.flush().is_err()
            {
                let _ = self.close(channel);
            }
            let _ = self.close_if_done(channel);
        }
    }

    fn take_from_trunk(&mut self, turn: &mut Turn) -> Result<(), Failure> {
        let (frames, ended, read) = self.trunk.receive_counted().map_err(broken)?;
        (turn.ended, turn.read) = (ended, read);
        self.unfinished = self.trunk.is_within_frame().then(Instant::now);
        for frame in frames {
            if let Some(bytes) = self.limited.then(|| told_read(&frame)).flatten() {
                self.trunk.used(bytes);
            } else if self.branches.contains_key(&frame.channel) {
                self.deliver(&frame)?;
            } else {
                turn.new.push(frame);
            }
        }
        Ok(())
    }

    fn take_from_branch(&mut self, channel: u16) -> Result<(), Failure> {
        let Some(line) = self.branches.get_mut(&channel).and_then(|b| b.line.as_mut()) else {
            return Ok(());
        };
        // An invalid frame ends the session, not the trunk.
        let (frames, ended) = line.receive().unwrap_or((Vec::new(), true));
        for frame in frames {
            self.send(&Frame { channel, ..frame })?;
        }
        if ended { self.close(channel) } else { Ok(()) }
    }

    /// Close a branch and tell the other side.
    fn close(&mut self, channel: u16) -> Result<(), Failure> {
        let Some(branch) = self.branches.get_mut(&channel) else { return Ok(()) };
        // A session's process, and all that were forked later, have copies of its socket.
        if let Some(line) = branch.line.take() {
            line.hang_up();
        }
        let tell = !std::mem::replace(&mut branch.closed_here, true);
        if branch.closed_there {
            self.branches.remove(&channel);
        }
        if tell { self.send(&closing_of(channel)) } else { Ok(()) }
    }

    /// Close a branch that the other side has closed, once all its data was passed on.
    fn close_if_done(&mut self, channel: u16) -> Result<(), Failure> {
        let done = self.branches.get(&channel).is_some_and(|branch| {
            branch.closed_there && branch.line.as_ref().is_none_or(|line| line.backlog() == 0)
        });
        if done { self.close(channel) } else { Ok(()) }
    }
}

/// Build the report, sent on channel 0, that this many bytes were read from the trunk.
pub(crate) fn tell_read(bytes: usize) -> Frame {
    let event = Reply::<_, ()>::Event(Event::Read(bytes as u64));
    Frame::new(Kind::Message, serde_json::to_vec(&event).unwrap_or_default())
}

/// Return the number of bytes that the other side reports as read; `None` for any other frame.
fn told_read(frame: &Frame) -> Option<u64> {
    if frame.channel != 0 || frame.kind != Kind::Message {
        return None;
    }
    match serde_json::from_slice::<Reply<Event, IgnoredAny>>(&frame.payload) {
        Ok(Reply::Event(Event::Read(bytes))) => Some(bytes),
        _ => None,
    }
}

/// Build the frame that closes a channel.
pub(crate) fn closing_of(channel: u16) -> Frame {
    Frame { channel, ..Frame::new(Kind::Close, []) }
}

fn broken(error: impl Into<FrameError>) -> Failure {
    Failure::new("carry sessions over one stream", error.into())
}

#[cfg(test)]
mod tests;
