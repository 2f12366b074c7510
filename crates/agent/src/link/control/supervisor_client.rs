//! Requests of sessions about a host's links.

use delaylab_proto::Failure;
use serde_json::Value;

use super::messages::{receive, send};
use crate::session::Session;

/// Serve a session's request about links: pass it to the supervisor and return the answer.
pub fn ask_supervisor(request: Value, session: &mut Session) -> Result<Value, Failure> {
    let Some(supervisor) = session.supervisor() else {
        return Err(Failure::new("ask about links", "this agent carries none")
            .fix("ask the agent `link.HOST` of a host with links that have conditions"));
    };
    send(supervisor, &request)?;
    receive(supervisor)
}
