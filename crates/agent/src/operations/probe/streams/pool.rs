//! The connections of a probe, by what they wait for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use delaylab_os::clock::Monotonic;

use super::stream::{State, Stream};

/// The connections by their number: the place of the packet that each was opened for.
#[derive(Debug, Default)]
pub(super) struct Pool {
    streams: HashMap<u32, Stream>,
    /// Those that wait for a request, the last used at the end.
    idle: Vec<u32>,
    /// The times at which connections are given up, with their numbers; also of some that are no longer needed.
    deadlines: BinaryHeap<Reverse<(Monotonic, u32)>>,
}

impl Pool {
    /// Keep a connection; give it up at its deadline unless it waits for a request.
    pub(super) fn keep(&mut self, stream: Stream) {
        match stream.state {
            State::Idle => self.idle.push(stream.opener),
            _ => self.deadlines.push(Reverse((stream.deadline, stream.opener))),
        }
        self.streams.insert(stream.opener, stream);
    }

    /// Take a connection out, if it is there.
    pub(super) fn take(&mut self, id: u32) -> Option<Stream> {
        self.idle.retain(|each| *each != id);
        self.streams.remove(&id)
    }

    /// Take the connection out that was the last one to begin to wait for a request.
    pub(super) fn take_idle(&mut self) -> Option<Stream> {
        let id = self.idle.pop()?;
        self.streams.remove(&id)
    }

    /// Return true if a connection waits for a request.
    pub(super) fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// Return true if a connection does anything else.
    pub(super) fn is_busy(&self) -> bool {
        self.streams.len() > self.idle.len()
    }

    /// Take a connection out whose deadline is over, if there is one.
    pub(super) fn take_overdue(&mut self, now: Monotonic) -> Option<Stream> {
        while let Some(Reverse((deadline, id))) = self.deadlines.peek().copied() {
            let current = self.streams.get(&id).filter(|stream| stream.deadline == deadline);
            let needed = current.is_some_and(|stream| stream.state != State::Idle);
            if needed && deadline > now {
                return None;
            }
            self.deadlines.pop();
            if needed {
                return self.take(id);
            }
        }
        None
    }

    /// Return the time of the next deadline, or an earlier one.
    pub(super) fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.peek().map(|Reverse((deadline, _))| *deadline)
    }
}

impl Drop for Pool {
    /// Close the connections that wait for a request properly.
    fn drop(&mut self) {
        for id in &self.idle {
            if let Some(stream) = self.streams.get_mut(id) {
                stream.close();
            }
        }
    }
}
