//! Sessions: streams of the framed protocol (docs/protocol.md), each served by a process of its own. A [`Session`] has
//! requests, replies, and orders in between.
//!
//! - [`listen`]: clients on a socket, and the processes that serve their sessions.
//! - [`line`]: a stream that never blocks; [`mux`]: many sessions over one.

pub(crate) mod line;
pub(crate) mod listen;
pub(crate) mod mux;

use std::collections::VecDeque;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use delaylab_os::files::descriptor;
use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure, Frame, FrameError, Kind, Reply, read_frame, write_frame};
use serde::Serialize;
use serde_json::Value;

use crate::protocol::running::{Event, Order, Orders};

const HEADER: usize = 7;
/// The maximum number of frames to read before their orders are carried out.
const AT_ONCE: usize = 16;

/// The most bytes that a stream with room takes at once: a pipe's atomic write (pipe(7), PIPE_BUF).
const AT_ONCE_BYTES: usize = 4096;

/// A server of one session, which handles its requests one after the other until the client has gone.
pub(crate) type Serve = fn(Session) -> Result<(), Failure>;

/// The agent's end of one session.
pub(crate) struct Session {
    input: OwnedFd,
    output: File,
    channel: u16,
    unread: Vec<u8>,
    waiting: VecDeque<Frame>,
    closed: bool,
    supervisor: Option<File>,
}

impl Session {
    /// Build a session that reads frames from `input` and writes them to `output`.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd) -> Self {
        Self {
            input,
            output: File::from(output),
            channel: 0,
            unread: Vec::new(),
            waiting: VecDeque::new(),
            closed: false,
            supervisor: None,
        }
    }

    /// Add the stream to the supervisor, which answers requests about links.
    #[must_use]
    pub(crate) fn with_supervisor(self, supervisor: OwnedFd) -> Self {
        Self { supervisor: Some(supervisor.into()), ..self }
    }

    /// Return the stream to the supervisor, if this agent carries links.
    pub(crate) fn supervisor(&mut self) -> Option<&mut File> {
        self.supervisor.as_mut()
    }

    /// Release the client's streams; the session sends and receives nothing from then on.
    pub(crate) fn detach(&mut self) -> std::io::Result<()> {
        let null = File::options().read(true).write(true).open("/dev/null")?;
        self.input = null.try_clone()?.into();
        self.output = null;
        self.closed = true;
        Ok(())
    }

    /// Send an event of a running request.
    pub(crate) fn event(&mut self, event: &Event) -> Result<(), Failure> {
        self.reply(&Reply::<_, ()>::Event(event))
    }

    /// Return true if an event can be sent without waiting for the client to read.
    pub(crate) fn has_room(&self) -> bool {
        let ready = poll::wait(&[(self.output.as_fd(), Interest::Write)], Some(Duration::ZERO));
        ready.is_ok_and(|ready| ready[0])
    }

    /// Wait until an event can be sent, or the client has sent something. Return true if an event can be sent.
    pub(crate) fn await_room(&self) -> std::io::Result<bool> {
        let on = [(self.output.as_fd(), Interest::Write), (self.input(), Interest::Read)];
        Ok(poll::wait(&on, None)? == [true, false])
    }

    /// Send a frame if that can be done without waiting for the client to read; return false if it cannot. A frame
    /// of more than [`AT_ONCE_BYTES`] is never sent so.
    pub(crate) fn offer(&mut self, frame: &Frame) -> Result<bool, Failure> {
        let fits = frame.payload.len() + HEADER <= AT_ONCE_BYTES && self.has_room();
        if fits {
            self.frame(frame)?;
        }
        Ok(fits)
    }

    /// Send a table or a command's output on the request's channel. If the client has gone, the frame is
    /// dropped, and [`Order::Closed`] ends the request.
    pub(crate) fn frame(&mut self, frame: &Frame) -> Result<(), Failure> {
        let frame = Frame { channel: self.channel, ..frame.clone() };
        match write_frame(&mut self.output, &frame) {
            Err(FrameError::Io(error)) if has_gone(&error) => {
                self.closed = true;
                Ok(())
            }
            written => written.context("answer"),
        }
    }

    /// Send one reply.
    pub(crate) fn reply(
        &mut self,
        reply: &Reply<impl Serialize, impl Serialize>,
    ) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(reply).context("answer")?;
        self.frame(&Frame::new(Kind::Message, bytes))
    }

    /// Return a descriptor for poll(2) that is readable when orders may have come.
    pub(crate) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Return the pending orders without blocking. [`Order::Closed`] is reported every time once the client
    /// has gone.
    pub(crate) fn orders(&mut self) -> Result<Orders, Failure> {
        // The limit keeps a client that sends without end from delaying its own orders.
        for _ in 0..AT_ONCE {
            let before = self.waiting.len();
            self.receive(Some(Duration::ZERO))?;
            if self.waiting.len() == before {
                break;
            }
        }
        let mut orders = Vec::new();
        while let Some(frame) = self.waiting.front() {
            let Some(order) = order(frame)? else { break };
            orders.push(order);
            self.waiting.pop_front();
        }
        if self.closed {
            orders.push(Order::Closed);
        }
        Ok(orders)
    }

    /// Return true if the client has said `stop` or has gone, without blocking. Other pending orders are dropped.
    pub(crate) fn must_end(&mut self) -> Result<bool, Failure> {
        Ok(self.orders()?.iter().any(|order| matches!(order, Order::Stop | Order::Closed)))
    }

    /// Block until the next request; return `None` once the client has gone. Orders that came too late for
    /// their request are dropped.
    pub(crate) fn request(&mut self) -> Result<Option<Value>, Failure> {
        self.request_frame()?.map(|frame| message(&frame)).transpose()
    }

    /// Return the next request as a frame, for requests that are too large to be parsed twice.
    pub(crate) fn request_frame(&mut self) -> Result<Option<Frame>, Failure> {
        loop {
            while let Some(frame) = self.waiting.pop_front() {
                self.channel = frame.channel;
                if matches!(order(&frame), Ok(Some(_))) {
                    continue;
                }
                return Ok(Some(frame));
            }
            if self.closed {
                return Ok(None);
            }
            self.receive(None)?;
        }
    }

    fn receive(&mut self, timeout: Option<Duration>) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        let ready = poll::wait(&[(self.input.as_fd(), Interest::Read)], timeout);
        if !ready.context("read from the client")?[0] {
            return Ok(());
        }
        let mut bytes = [0; 64 << 10];
        // Read one frame and no byte more. The rest keeps `input` readable, so that an order which came
        // together with its request is not overlooked.
        while let Some(missing) = missing(&self.unread) {
            let count = missing.min(bytes.len());
            match descriptor::read_some(self.input.as_fd(), &mut bytes[..count]) {
                Ok(None) => return Ok(()),
                // A reset connection means that the client has gone.
                Ok(Some(0)) | Err(_) => {
                    self.closed = true;
                    return Ok(());
                }
                Ok(Some(count)) => self.unread.extend_from_slice(&bytes[..count]),
            }
        }
        let frame = read_frame(&mut &self.unread[..]).context("read from the client")?;
        self.waiting.extend(frame);
        self.unread = Vec::new();
        Ok(())
    }
}

/// Return true if a write failed because nobody reads any more.
fn has_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}

/// Return the number of bytes missing of a header or of its frame; `None` if the frame is complete or its
/// header invalid.
fn missing(bytes: &[u8]) -> Option<usize> {
    let Some(header) = bytes.get(..HEADER) else { return Some(HEADER - bytes.len()) };
    let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    if length > delaylab_proto::MAX_PAYLOAD {
        return None;
    }
    let missing = HEADER + length as usize - bytes.len();
    (missing > 0).then_some(missing)
}

fn message(frame: &Frame) -> Result<Value, Failure> {
    if frame.kind != Kind::Message {
        return Err(Failure::new("read a request", format!("a frame of {:?} came", frame.kind)));
    }
    serde_json::from_slice(&frame.payload).context("read a request")
}

/// Return the order in a frame; `None` if it is a request.
fn order(frame: &Frame) -> Result<Option<Order>, Failure> {
    if frame.kind == Kind::Stdin {
        return Ok(Some(Order::Stdin(frame.payload.clone())));
    }
    Order::read(&message(frame)?)
}

/// Return standard input and output as a session's streams.
pub(crate) fn stdio() -> Result<(OwnedFd, OwnedFd), Failure> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let output = std::io::stdout().as_fd().try_clone_to_owned();
    let open = |result: std::io::Result<OwnedFd>| result.context("open standard input and output");
    Ok((open(input)?, open(output)?))
}
