//! One connection of a probe: what it waits for, and what has come on it.

use std::borrow::Cow;
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::clock::Monotonic;
use delaylab_os::socket::connection;

use crate::operations::probe::entry::NEVER;
use crate::operations::probe::exchange::{Answer, Progress, Tls};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The SYN was sent.
    Opening,
    /// TLS is being agreed on.
    Agreeing,
    /// The request of this packet was sent.
    Asked(u32),
    /// It takes the next request.
    Idle,
    /// All was answered: the server closes it, or this end has.
    Closing,
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) fd: OwnedFd,
    pub(super) port: u16,
    /// The place of the packet that it was opened for.
    pub(super) opener: u32,
    pub(super) state: State,
    /// The time at which it is given up.
    pub(super) deadline: Monotonic,
    tls: Option<Tls>,
    pub(super) opened: Monotonic,
    /// The bytes that were sent and received, as TCP carries them.
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) answer: Answer,
    /// True once some of the answer has come.
    begun: bool,
}

/// The parts of a connection's exchange that some bytes have brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Came {
    /// True if TLS has just been agreed on.
    pub agreed: bool,
    /// The place of the answer's first byte in the stream, if that has come.
    pub first: Option<u64>,
    /// True if the answer is whole.
    pub whole: bool,
}

impl Stream {
    /// Return a connection whose SYN was sent for the packet at a place.
    pub(super) fn begun(fd: OwnedFd, port: u16, opener: u32, deadline: Monotonic) -> Self {
        Self {
            fd,
            port,
            opener,
            state: State::Opening,
            deadline,
            tls: None,
            opened: NEVER,
            sent: 0,
            received: 0,
            answer: Answer::default(),
            begun: false,
        }
    }

    /// Begin to agree on TLS.
    pub(super) fn agree(&mut self, mut tls: Tls) -> Result<(), String> {
        let hello = tls.unsent();
        self.tls = Some(tls);
        self.state = State::Agreeing;
        self.send(&hello)
    }

    /// Make the connection wait for the answer to a packet's request; return the bytes to send for it.
    pub(super) fn prepare<'a>(
        &mut self,
        request: &'a [u8],
        place: u32,
    ) -> Result<Cow<'a, [u8]>, String> {
        self.state = State::Asked(place);
        self.answer = Answer::default();
        self.begun = false;
        match &mut self.tls {
            Some(tls) => tls.encrypt(request).map(Cow::Owned),
            None => Ok(Cow::Borrowed(request)),
        }
    }

    /// Send bytes without waiting.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        if !bytes.is_empty() {
            connection::send_all(self.fd.as_fd(), bytes).map_err(|error| error.to_string())?;
            self.sent += bytes.len() as u64;
        }
        Ok(())
    }

    /// Take bytes that were received. Fail with the reason if they are not what the connection waits for.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Came, String> {
        let begin = self.received;
        self.received += bytes.len() as u64;
        let Some(tls) = &mut self.tls else { return self.answered(begin, bytes) };
        let mut records = Vec::new();
        tls.read(bytes, |record| records.push(record))?;
        let agreed = self.state == State::Agreeing && !tls.is_handshaking();
        let replies = tls.unsent();
        self.send(&replies)?;
        let mut came = Came { agreed, ..Came::default() };
        for record in records {
            let part = self.answered(begin.saturating_add_signed(record.at), &record.data)?;
            came.first = came.first.or(part.first);
            came.whole |= part.whole;
        }
        Ok(came)
    }

    /// Take data of an answer, of which the first byte is at `at` in the stream.
    fn answered(&mut self, at: u64, data: &[u8]) -> Result<Came, String> {
        match self.state {
            State::Asked(_) => {}
            State::Closing => return Ok(Came::default()),
            _ => return Err("data came unasked".into()),
        }
        let first = (!std::mem::replace(&mut self.begun, true)).then_some(at);
        let whole = self.answer.read(data)? == Progress::Done;
        Ok(Came { agreed: false, first, whole })
    }

    /// Return the reason why the packet on the connection failed, once its deadline is over.
    pub(super) fn overdue(&self) -> Option<&'static str> {
        match self.state {
            State::Opening => Some("the connection was not opened in time"),
            State::Agreeing => Some("TLS was not agreed on in time"),
            State::Asked(_) if self.begun => Some("the answer was not whole in time"),
            State::Asked(_) => Some("no answer to the request"),
            State::Idle | State::Closing => None,
        }
    }

    /// Tell the server that nothing follows, so that it closes the connection, too. It may have done so already.
    pub(super) fn close(&mut self) {
        let last = self.tls.as_mut().map(Tls::end).unwrap_or_default();
        let _ = self.send(&last);
        let _ = connection::finish(self.fd.as_fd());
    }
}
