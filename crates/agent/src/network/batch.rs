//! Batches of netlink requests, to save system calls.

use delaylab_os::netlink::RouteSocket;
use delaylab_proto::{Context, Failure};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;

/// The size in bytes at which a batch is sent. The kernel copies a batch as a whole: it should be large
/// enough to save calls and small enough to be cheap to copy.
const FULL: usize = 64 << 10;

/// The effect of a request on its object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Create the object; it is an error if it exists.
    Create,
    /// Change an existing object.
    Change,
    /// Create the object, or change it if it exists.
    Replace,
    /// Add to the objects of this name, of which there may be several.
    Append,
}

/// Requests for one socket, in order. They are sent by [`Batch::flush`], [`Batch::finish`], or once the
/// buffer is full.
pub(crate) struct Batch<'a> {
    socket: &'a RouteSocket,
    bytes: Vec<u8>,
    last: usize,
    /// The description of each request for error messages; the index is the sequence number.
    what: Vec<String>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(socket: &'a RouteSocket) -> Self {
        Self { socket, bytes: Vec::with_capacity(FULL + 4096), last: 0, what: Vec::new() }
    }

    /// Send a single request.
    pub(crate) fn one(
        socket: &'a RouteSocket,
        what: String,
        verb: Verb,
        message: RouteNetlinkMessage,
    ) -> Result<(), Failure> {
        let mut batch = Self::new(socket);
        batch.push(what, verb, message)?;
        batch.finish()
    }

    /// Add a request. `what` names the operation and its object for error messages.
    pub(crate) fn push(
        &mut self,
        what: String,
        verb: Verb,
        message: RouteNetlinkMessage,
    ) -> Result<(), Failure> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST
            | match verb {
                Verb::Create => NLM_F_CREATE | NLM_F_EXCL,
                Verb::Change => 0,
                Verb::Replace => NLM_F_CREATE | NLM_F_REPLACE,
                Verb::Append => NLM_F_CREATE | NLM_F_APPEND,
            };
        header.sequence_number = self.what.len() as u32;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        self.last = self.bytes.len();
        self.bytes.resize(self.last + message.buffer_len().next_multiple_of(4), 0);
        message.serialize(&mut self.bytes[self.last..]);
        self.what.push(what);
        if self.bytes.len() >= FULL { self.flush() } else { Ok(()) }
    }

    /// Send the remaining requests.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()
    }

    /// Send all buffered requests, and block until the kernel has processed them.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let flags = self.last + 6;
        let acknowledged =
            u16::from_ne_bytes([self.bytes[flags], self.bytes[flags + 1]]) | NLM_F_ACK;
        self.bytes[flags..flags + 2].copy_from_slice(&acknowledged.to_ne_bytes());
        let sequence = self.what.len() as u32 - 1;
        let refusal =
            self.socket.request(&self.bytes, sequence).context("talk to the kernel by netlink")?;
        self.bytes.clear();
        let Some(refusal) = refusal else { return Ok(()) };
        let what = self.what.get(refusal.sequence as usize).cloned().unwrap_or_default();
        Err(Failure { errno: Some(refusal.errno), ..Failure::new(what, refusal.why()) })
    }
}
