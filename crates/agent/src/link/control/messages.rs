//! Messages between the processes that carry a host's links: sessions, the supervisor, its engine.

use std::fs::File;

use delaylab_proto::{Context, Failure, Frame, Kind, Reply, read_frame, write_frame};
use serde_json::Value;

use crate::protocol::programs::Nothing;

/// A reply of an engine. An event is the reason why it ends.
pub(super) type EngineReply = Reply<Failure, Value>;

/// Send a request or reply to another process of the agent.
pub(super) fn send(to: &mut File, message: &impl serde::Serialize) -> Result<(), Failure> {
    let bytes = serde_json::to_vec(message).context("ask")?;
    pass_on(to, &bytes)
}

/// Pass on a message that came as JSON.
pub(super) fn pass_on(to: &mut File, bytes: &[u8]) -> Result<(), Failure> {
    write_frame(to, &Frame::new(Kind::Message, bytes)).context("ask")
}

/// Block until the reply to a request.
pub(super) fn receive(from: &mut File) -> Result<Value, Failure> {
    match hear(from)? {
        Reply::Done(value) => Ok(value),
        Reply::Error(failure) | Reply::Event(failure) => Err(failure),
    }
}

/// Block until the next message of another process of the agent.
pub(super) fn hear(from: &mut File) -> Result<EngineReply, Failure> {
    let what = "wait for an answer about links";
    let frame = read_frame(from).context(what)?;
    let frame = frame.ok_or_else(|| Failure::new(what, "the other process has ended"))?;
    serde_json::from_slice(&frame.payload).context(what)
}

/// Tell the supervisor that the engine carries links from now on.
pub(super) fn say_ready(to: &mut File) -> Result<(), Failure> {
    send(to, &Reply::<Failure, _>::Done(Nothing {}))
}

/// Tell the supervisor why the engine cannot start.
pub(super) fn say_refused(to: &mut File, failure: Failure) -> Result<(), Failure> {
    send(to, &Reply::<Failure, Nothing>::Error(failure))
}

/// Send the reason why an engine ends to its supervisor, which takes it in place of any answer.
pub(super) fn say_why(to: &mut File, failure: &Failure) {
    // Without a supervisor nobody needs to know.
    let _ = send(to, &Reply::<_, Nothing>::Event(failure));
}
