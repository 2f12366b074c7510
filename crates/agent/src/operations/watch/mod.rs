//! `watch`: the state of the machine and of places in the lab, sampled on an absolute schedule.

mod machine;
mod place;
mod table;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure};

use crate::protocol::network::{Watch, WatchDone};
use crate::protocol::running::{Event, Order};
use crate::session::Session;
use machine::Machine;
use place::Place;
use table::Samples;

/// Sample until `stop`, and send the table `hosts` in parts. Samples whose time passed while an earlier one
/// was still being taken are counted as missed; the others stay on schedule.
pub(super) fn serve(request: Watch, session: &mut Session) -> Result<WatchDone, Failure> {
    if request.interval_ns == 0 {
        return Err(Failure::new("watch", "`interval_ns` is 0"));
    }
    let interval = Duration::from_nanos(request.interval_ns);
    let mut machine = Machine::new()?;
    let mut places =
        request.places.into_iter().map(Place::new).collect::<Result<Vec<_>, Failure>>()?;
    session.event(&Event::READY)?;
    let mut samples = Samples::default();
    let (mut taken, mut missed) = (0u64, 0u64);
    let mut due = Instant::now() + interval;
    while wait_until(due, session)? {
        samples.start(now()?);
        machine.sample(&mut samples)?;
        for place in &mut places {
            place.sample(&mut samples);
        }
        samples.send_if_large(session)?;
        taken += 1;
        due += interval;
        let late = Instant::now().saturating_duration_since(due);
        let passed = u64::try_from(late.as_nanos() / interval.as_nanos()).unwrap_or(u64::MAX);
        missed += passed;
        due += interval * u32::try_from(passed).unwrap_or(u32::MAX);
    }
    samples.send(session)?;
    Ok(WatchDone { samples: taken, missed })
}

/// Wait until the time has come and return true; return false if the client stops the sampling.
fn wait_until(due: Instant, session: &mut Session) -> Result<bool, Failure> {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        let ready = poll::wait(&[(session.input(), Interest::Read)], Some(left))
            .context("wait for the next sample")?;
        if ready[0] {
            for order in session.orders()? {
                match order {
                    Order::Stop => return Ok(false),
                    Order::Closed => return Err(Failure::new("watch", "the client went away")),
                    Order::Signal(_)
                    | Order::Stdin(_)
                    | Order::Used(_)
                    | Order::Keep
                    | Order::Pause(_)
                    | Order::Go => {}
                }
            }
        } else if left.is_zero() {
            return Ok(true);
        }
    }
}

fn now() -> Result<i64, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.context("read the clock")?;
    i64::try_from(since.as_nanos()).context("read the clock")
}
