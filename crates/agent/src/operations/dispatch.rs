//! The server of one session, which handles its requests one after the other.

use std::time::Instant;

use delaylab_os::time::clock;
use delaylab_proto::{Context, Failure, Reply};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use super::{compute, discard, exec, generate, probe, reflect, tap, watch};
use crate::network::{counters, neighbours, route};
use crate::session::Session;
use crate::session::fields::fields;
use crate::{fabric, link};

type Operation = fn(Value, &mut Session) -> Result<Value, Failure>;

/// The operations of the protocol (docs/protocol.md).
const OPERATIONS: &[(&str, Operation)] = &[
    ("hello", hello),
    ("exec", exec::serve),
    ("compute", compute::serve),
    ("probe", probe::serve),
    ("generate", generate::serve),
    ("discard", discard::serve),
    ("reflect", reflect::serve),
    ("tap", tap::serve),
    ("watch", watch::serve),
    ("counters", counters::serve),
    ("clock", read_clock),
    ("route", route::serve),
    ("neighbours", neighbours::serve),
    ("setup", fabric::setup),
    ("links", link::ask_supervisor),
    ("link-set", link::ask_supervisor),
    ("link-timeline", link::ask_supervisor),
    ("link-restart", link::ask_supervisor),
];

/// Serve requests until the client closes the session.
pub fn serve(mut session: Session) -> Result<(), Failure> {
    info!(pid = std::process::id(), "session begins");
    loop {
        let reply = match session.request() {
            Ok(None) => {
                info!(pid = std::process::id(), "session ends");
                return Ok(());
            }
            Ok(Some(request)) => answer(request, &mut session),
            // The stream no longer holds valid frames or requests.
            Err(failure) => {
                warn!(pid = std::process::id(), %failure, "session ends");
                session.reply(&Reply::Error(failure.clone()))?;
                return Err(failure);
            }
        };
        session.reply(&reply)?;
    }
}

fn answer(request: Value, session: &mut Session) -> Reply {
    let (name, began) = (name(&request).unwrap_or_default().to_owned(), Instant::now());
    debug!(operation = name, "request begins");
    let result = operation(&request).and_then(|operation| operation(request, session));
    let elapsed = began.elapsed();
    match result {
        Ok(done) => {
            info!(operation = name, ?elapsed, "request done");
            Reply::Done(done)
        }
        Err(failure) => {
            info!(operation = name, ?elapsed, %failure, "request failed");
            Reply::Error(failure)
        }
    }
}

/// Return the name of the operation that a request asks for.
fn name(request: &Value) -> Option<&str> {
    request.get("op").and_then(Value::as_str)
}

fn operation(request: &Value) -> Result<Operation, Failure> {
    let name = name(request);
    let name = name.ok_or_else(|| Failure::new("read a request", "it has no `op`"))?;
    let found = OPERATIONS.iter().find(|(known, _)| *known == name);
    found.map(|(_, operation)| *operation).ok_or_else(|| {
        let known: Vec<&str> = OPERATIONS.iter().map(|(name, _)| *name).collect();
        Failure::new(format!("do `{name}`"), "this agent has no such operation")
            .fix(format!("one of: {}", known.join(", ")))
    })
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoFields {}

fn hello(request: Value, _: &mut Session) -> Result<Value, Failure> {
    fields::<NoFields>(request)?;
    let clock = clock::name().context("read the boot id")?;
    Ok(json!({"version": env!("CARGO_PKG_VERSION"), "pid": std::process::id(), "clock": clock}))
}

/// Return the current time, for comparing two clocks. The clock is read as late as possible.
fn read_clock(request: Value, _: &mut Session) -> Result<Value, Failure> {
    fields::<NoFields>(request)?;
    Ok(json!({"time_ns": clock::realtime_ns()}))
}
