//! `delaylab-agent`: the one binary.

mod probe;
mod reflect;
mod session;
mod table;
mod tap;

use delaylab_proto::{Failure, Frame, Kind, Reply, read_frame};
use serde_json::Value;

fn main() {
    let mut session = session::Session::stdio();
    while let Ok(Some(frame)) = read_frame(&mut std::io::stdin()) {
        let reply = match serde_json::from_slice(&frame.payload) {
            Ok(request) => serve(request, &mut session).map_or_else(Reply::Error, Reply::Done),
            Err(error) => Reply::Error(Failure::new("read request", error)),
        };
        let payload = serde_json::to_vec(&reply).unwrap_or_default();
        if session.frame(&Frame::new(Kind::Message, payload)).is_err() {
            return;
        }
    }
}

fn serve(request: Value, session: &mut session::Session) -> Result<Value, Failure> {
    match request["op"].as_str() {
        Some("probe") => probe::serve(request, session),
        Some("reflect") => reflect::serve(request, session),
        Some("tap") => tap::serve(request, session),
        Some("stop") | None if request["stop"].is_boolean() => Ok(Value::Null),
        _ => Err(Failure::new("serve request", "unknown op")),
    }
}
