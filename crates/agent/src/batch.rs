//! Many netlink requests in few system calls.

use delaylab_os::netlink::Route;
use delaylab_proto::Failure;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;

/// The kernel copies a batch as a whole: large enough to make calls few, small enough to be cheap.
const FULL: usize = 64 << 10;

/// What a request does to its object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Make it; that it exists is an error.
    Create,
    /// Change what is there.
    Change,
    /// Make it, or change what is there.
    Replace,
}

/// Requests for one socket, in order. Nothing is sent before [`Batch::flush`], [`Batch::finish`] or a full buffer.
pub struct Batch<'a> {
    socket: &'a Route,
    bytes: Vec<u8>,
    last: usize,
    /// What each request does, for the error; the index is the sequence number.
    what: Vec<String>,
}

impl<'a> Batch<'a> {
    pub fn new(socket: &'a Route) -> Self {
        Self { socket, bytes: Vec::with_capacity(FULL + 4096), last: 0, what: Vec::new() }
    }

    /// One request alone.
    pub fn one(
        socket: &'a Route,
        what: String,
        verb: Verb,
        message: RouteNetlinkMessage,
    ) -> Result<(), Failure> {
        let mut batch = Self::new(socket);
        batch.push(what, verb, message)?;
        batch.finish()
    }

    /// Adds a request; `what` names the operation and its object, as an error shows it.
    pub fn push(
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

    /// Sends what is left.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush()
    }

    /// Sends what there is, and waits until the kernel has done it.
    pub fn flush(&mut self) -> Result<(), Failure> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let flags = self.last + 6;
        let acknowledged =
            u16::from_ne_bytes([self.bytes[flags], self.bytes[flags + 1]]) | NLM_F_ACK;
        self.bytes[flags..flags + 2].copy_from_slice(&acknowledged.to_ne_bytes());
        let sequence = self.what.len() as u32 - 1;
        let refusal = self
            .socket
            .request(&self.bytes, sequence)
            .map_err(|error| Failure::new("talk to the kernel by netlink", error))?;
        self.bytes.clear();
        let Some(refusal) = refusal else { return Ok(()) };
        let what = self.what.get(refusal.sequence as usize).cloned().unwrap_or_default();
        Err(Failure::new(what, refusal.why()))
    }
}
