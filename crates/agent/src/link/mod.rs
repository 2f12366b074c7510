//! The links of a host whose conditions this agent implements (docs/protocol.md, "Links").
//!
//! - [`supervisor`]: answers sessions; starts the engine, a [`child`], and sets the ports down when the
//!   engine has ended.
//! - [`engine`]: the engine's process; serves requests beside the loop.
//! - [`serve`](mod@serve): serves requests and runs the timeline, for either kind of engine.
//! - [`forward`]: the loop; [`intake`], [`direction`], [`wire`], [`pool`], [`due`] and [`outbox`] are its
//!   parts.
//! - [`kernel`]: uses the kernel's bridges and qdiscs instead.
//! - [`gates`]: limits senders at their own interfaces, each by a [`gate`].
//! - `crate::pace`: decides when the loop sleeps and when it spins.

mod asked;
mod cable;
mod checksum;
mod child;
mod counts;
mod direction;
mod due;
mod engine;
mod epoch;
mod forward;
mod front;
mod gate;
mod gates;
mod intake;
pub mod kernel;
mod laid;
mod orders;
mod outbox;
mod plan;
mod pool;
mod port_drops;
mod request;
mod serve;
mod supervisor;
mod timeline;
mod wire;

use std::fs::File;

use delaylab_os::links;
use delaylab_proto::{Failure, Frame, Kind, Reply, read_frame, write_frame};
use serde_json::{Value, json};

pub use child::Work;
pub use gates::Agents;
pub use plan::{Carrier, Links};
pub use supervisor::Supervisor;

use crate::session::Session;

/// Serve a session's request about links: pass it to the supervisor and return the answer.
pub fn serve(request: Value, session: &mut Session) -> Result<Value, Failure> {
    let Some(supervisor) = session.supervisor() else {
        return Err(Failure::new("ask about links", "this agent carries none")
            .fix("ask the agent `link.HOST` of a host with links that have conditions"));
    };
    send(supervisor, &request)?;
    receive(supervisor)
}

/// Send a request or reply to another process of the agent.
fn send(to: &mut File, message: &impl serde::Serialize) -> Result<(), Failure> {
    let bytes = serde_json::to_vec(message).map_err(|error| Failure::new("ask", error))?;
    write_frame(to, &Frame::new(Kind::Message, bytes)).map_err(|error| Failure::new("ask", error))
}

/// Block until the reply to a request.
fn receive(from: &mut File) -> Result<Value, Failure> {
    match hear(from)? {
        Reply::Done(value) | Reply::Event(value) => Ok(value),
        Reply::Error(failure) => Err(failure),
    }
}

/// Block until the next message of another process of the agent.
fn hear(from: &mut File) -> Result<Reply, Failure> {
    let what = "wait for an answer about links";
    let frame = read_frame(from).map_err(|error| Failure::new(what, error))?;
    let frame = frame.ok_or_else(|| Failure::new(what, "the other process has ended"))?;
    serde_json::from_slice(&frame.payload).map_err(|error| Failure::new(what, error))
}

/// Send the reason why an engine ends to its supervisor, which takes it in place of any answer.
fn say_why(to: &mut File, failure: &Failure) {
    // Without a supervisor nobody needs to know.
    let _ = send(to, &Reply::Event(json!(failure)));
}

/// Set all ports up or down. Continue after an error and return the first.
fn set_ports(of: &Links, up: bool) -> Result<(), Failure> {
    let word = if up { "bring up" } else { "take down" };
    let mut result = Ok(());
    for port in of.ports() {
        let done = links::set_up(port, up)
            .map_err(|error| Failure::new(format!("{word} the port {port}"), error));
        result = result.and(done);
    }
    result
}
