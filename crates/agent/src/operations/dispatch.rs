//! The server of one session, which handles its requests one after the other.

use std::time::Instant;

use delaylab_os::clock::Realtime;
use delaylab_os::socket::namespace_cookie;
use delaylab_proto::{Context, Failure, Refusal, Reply};
use serde_json::Value;
use tracing::{debug, info, warn};

use super::{
    compute, cpus, crossing, discard, exec, generate, hiccups, observe, probe, programs, reflect,
    tap, watch,
};
use crate::network::{addresses, carrier, counters, neighbours, queues, route};
use crate::protocol::links::LinkRequest;
use crate::protocol::programs::{Clock, ClockDone, Hello, HelloDone};
use crate::protocol::requests::{Operation, Request, name};
use crate::session::Session;
use crate::timing::test_clock;
use crate::{fabric, link, machine};

/// Serve requests until the client closes the session.
pub(crate) fn serve(mut session: Session) -> Result<(), Failure> {
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
                session.reply(&Refusal::Error(failure.clone()))?;
                return Err(failure);
            }
        };
        session.reply(&reply)?;
    }
}

fn answer(request: Value, session: &mut Session) -> Reply<()> {
    let (name, began) = (name(&request).unwrap_or_default().to_owned(), Instant::now());
    debug!(operation = name, "request begins");
    let result = operate(request, session);
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

fn operate(request: Value, session: &mut Session) -> Result<Value, Failure> {
    match Request::read(request)? {
        Request::Hello(it) => run(it, session, hello),
        Request::Exec(it) => run(it, session, exec::serve),
        Request::Start(it) => run(it, session, programs::start),
        Request::Programs(it) => run(it, session, programs::list),
        Request::Output(it) => run(it, session, programs::output),
        Request::EndProgram(it) => run(it, session, programs::end),
        Request::Notify(it) => run(it, session, programs::notify),
        Request::Control(it) => run(it, session, programs::control),
        Request::Schedule(it) => run(it, session, programs::schedule),
        Request::Scheduled(it) => run(it, session, programs::scheduled),
        Request::Record(it) => run(it, session, programs::record),
        Request::Compute(it) => run(it, session, compute::serve),
        Request::Probe(it) => run(it, session, probe::serve),
        Request::Generate(it) => run(it, session, generate::serve),
        Request::Discard(it) => run(it, session, discard::serve),
        Request::SendFrames(it) => run(it, session, crossing::send_frames),
        Request::AwaitFrames(it) => run(it, session, crossing::await_frames),
        Request::Reflect(it) => run(it, session, reflect::serve),
        Request::Tap(it) => run(it, session, tap::serve),
        Request::Hiccups(it) => run(it, session, hiccups::serve),
        Request::Cpus(it) => run(it, session, cpus::serve),
        Request::Watch(it) => run(it, session, watch::serve),
        Request::Observe(it) => run(it, session, observe::serve),
        Request::Counters(it) => run(it, session, counters::serve),
        Request::Queues(it) => run(it, session, queues::serve),
        Request::Clock(it) => run(it, session, read_clock),
        Request::Addresses(it) => run(it, session, addresses::serve),
        Request::FindRoute(it) => run(it, session, route::serve),
        Request::Neighbours(it) => run(it, session, neighbours::serve),
        Request::Carrier(it) => run(it, session, carrier::serve),
        Request::Setup(it) => run(it, session, fabric::setup),
        Request::Links(it) => link::ask_supervisor(&LinkRequest::Links(it), session),
        Request::LinkSet(it) => link::ask_supervisor(&LinkRequest::LinkSet(it), session),
        Request::LinkTimeline(it) => link::ask_supervisor(&LinkRequest::LinkTimeline(it), session),
        Request::LinkPace(it) => link::ask_supervisor(&LinkRequest::LinkPace(it), session),
        Request::LinkPassages(it) => link::ask_supervisor(&LinkRequest::LinkPassages(it), session),
        Request::LinkRestart(it) => link::ask_supervisor(&LinkRequest::LinkRestart(it), session),
        Request::DescribeMachine(it) => run(it, session, machine::facts::describe),
        Request::Processes(it) => run(it, session, machine::facts::processes),
        Request::Stored(it) => run(it, session, machine::store::list),
        Request::Labs(it) => run(it, session, fabric::labs),
        Request::LabFiles(it) => run(it, session, fabric::lab_files),
        Request::EndLab(it) => run(it, session, fabric::end_lab),
        Request::Sweep(it) => run(it, session, fabric::sweep_all),
    }
}

/// Carry out an operation. Its answer has the type that the protocol states.
fn run<O: Operation>(
    request: O,
    session: &mut Session,
    serve: impl Fn(O, &mut Session) -> Result<O::Done, Failure>,
) -> Result<Value, Failure> {
    serde_json::to_value(serve(request, session)?).context("answer")
}

fn hello(_: Hello, _: &mut Session) -> Result<HelloDone, Failure> {
    let clock = test_clock::name().context("read the boot id")?;
    let namespace = namespace_cookie().unwrap_or(0);
    Ok(HelloDone { version: env!("CARGO_PKG_VERSION"), pid: std::process::id(), clock, namespace })
}

/// Return the current time, for comparing two clocks. The clock is read as late as possible.
fn read_clock(_: Clock, _: &mut Session) -> Result<ClockDone, Failure> {
    Ok(ClockDone { time_ns: test_clock::shown(Realtime::now().ns()) })
}
