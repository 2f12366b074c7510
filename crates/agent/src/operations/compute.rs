//! `compute`: a fixed amount of arithmetic, with the time at which each part of it was done.
//!
//! The work touches no memory and makes no system call but to read the clock, so that its progress shows the
//! CPU time that the node was given, and nothing else.

use std::hint::black_box;

use delaylab_os::clock::{self, EpochOffset, Monotonic, Span};
use delaylab_os::process::{self, Usage};
use delaylab_proto::{Context, Failure, Table};

use super::{hold, tables};
use crate::protocol::programs::{Compute, ComputeDone};
use crate::session::Session;

/// The steps of one unit: each depends on the one before. A unit takes some 0.2 ms of a CPU of today.
const STEPS: u32 = 100_000;
/// The units after which the client's orders are looked at.
const AT_ONCE: u32 = 16;
/// The most units of one request: hours of work.
const MOST: u32 = 100_000_000;

/// One row of the table `progress`: at `time_ns`, `units` were done in `cpu_ns` of this thread's CPU time.
struct Done {
    time: Monotonic,
    cpu: Span,
    units: u32,
}

/// Do the work, or as much as was done when the client said `stop`, and return its times.
pub(super) fn serve(request: Compute, session: &mut Session) -> Result<ComputeDone, Failure> {
    if !(1..=MOST).contains(&request.units) {
        let why = format!("`units` is {}, not 1 to {MOST}", request.units);
        return Err(Failure::new("compute", why));
    }
    let going = !request.hold || hold::until_go(session)?;
    let before = usage()?;
    let (offset, _) = EpochOffset::read_exactly();
    let (began, began_cpu) = (Monotonic::now(), clock::thread_cpu());
    let (mut units, mut state) = (0, 0x9E37_79B9_7F4A_7C15);
    let mut rows = Vec::new();
    let mut due = began;
    while going && units < request.units && !session.must_end()? {
        for _ in 0..AT_ONCE.min(request.units - units) {
            state = unit(black_box(state));
            units += 1;
            let time = Monotonic::now();
            if time >= due || units == request.units {
                rows.push(Done { time, cpu: clock::thread_cpu() - began_cpu, units });
                due = time + Span::from_ns(request.every_ns);
            }
        }
    }
    black_box(state);
    let ended = if going { Monotonic::now() } else { began };
    let after = usage()?;
    send(session, &rows, offset)?;
    Ok(ComputeDone {
        units,
        began_ns: offset.realtime(began).ns(),
        ended_ns: offset.realtime(ended).ns(),
        user_ns: tables::nanoseconds(after.user.saturating_sub(before.user)),
        system_ns: tables::nanoseconds(after.system.saturating_sub(before.system)),
    })
}

/// Do one unit: steps of xorshift (Marsaglia 2003, "Xorshift RNGs").
fn unit(mut state: u64) -> u64 {
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

fn usage() -> Result<Usage, Failure> {
    process::own_usage().context("read this process's CPU time")
}

fn send(session: &mut Session, rows: &[Done], offset: EpochOffset) -> Result<(), Failure> {
    tables::in_parts(session, rows.iter(), |rows| {
        Table::new("progress", rows.len())
            .numbers("time_ns", rows.iter().map(|row| offset.realtime(row.time).ns()))
            .numbers("cpu_ns", rows.iter().map(|row| row.cpu.ns()))
            .numbers("units", rows.iter().map(|row| row.units))
    })
}

#[cfg(test)]
mod tests {
    use super::unit;

    #[test]
    fn a_unit_is_always_the_same_work() {
        assert_eq!(unit(1), unit(1));
        assert_ne!(unit(1), unit(2));
        assert_ne!(unit(1), 0);
    }
}
