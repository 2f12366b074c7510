//! The range check of conditions.

use crate::limits::{
    FARTHEST, FASTEST_BPS, LARGEST_FRAMING, LONGEST_NS, LONGEST_TRACE_NS, MOST_REFILLS,
};
use crate::server::Opportunities;
use crate::steps::Steps;
use crate::{
    Conditions, Discipline, Distribution, Jitter, Loss, Queue, QueuePlace, Rate, Reorder, Trace,
};

type Check = Result<(), String>;

impl Conditions {
    /// Check that a link can provide these conditions. An error is one line that names the condition.
    pub fn check(&self) -> Result<(), String> {
        time("delay_ns", self.delay_ns)?;
        share("duplicate", self.duplicate)?;
        share("corrupt", self.corrupt)?;
        self.jitter.as_ref().map_or(Ok(()), jitter)?;
        self.loss.as_ref().map_or(Ok(()), loss)?;
        self.reorder.as_ref().map_or(Ok(()), reorder)?;
        self.rate.as_ref().map_or(Ok(()), rate)?;
        self.queue.as_ref().map_or(Ok(()), queue)?;
        self.trace.as_ref().map_or(Ok(()), trace)?;
        let rates = matches!(self.trace, Some(Trace::Rate { .. } | Trace::Opportunities { .. }));
        ensure(!(rates && self.held_by_sender()), || {
            "queue.held: a sender cannot be held to a trace of rates".into()
        })?;
        let refilled = self.rate.as_ref().is_some_and(|rate| rate.refills.is_some());
        ensure(!(refilled && self.held_by_sender()), || {
            "queue.held: a sender cannot be held to a budget".into()
        })
    }
}

fn jitter(jitter: &Jitter) -> Check {
    time("jitter.spread_ns", jitter.spread_ns)?;
    correlation("jitter.correlation", jitter.correlation)?;
    if let Some(half_life_ns) = jitter.half_life_ns {
        positive("jitter.half_life_ns", half_life_ns)?;
        time("jitter.half_life_ns", half_life_ns)?;
        ensure(jitter.correlation == 0.0, || {
            "jitter: give correlation or half_life_ns, not both".into()
        })?;
    }
    let Distribution::Table(table) = &jitter.distribution else { return Ok(()) };
    ensure(!table.is_empty(), || "jitter.distribution: the table is empty".into())?;
    ensure(table.iter().all(|x| x.abs() <= FARTHEST), || {
        format!("jitter.distribution: the table has a value beyond ±{FARTHEST} spreads")
    })
}

fn loss(loss: &Loss) -> Check {
    match loss {
        Loss::Independent { share: lost, correlation: rho } => {
            share("loss.share", *lost)?;
            correlation("loss.correlation", *rho)
        }
        Loss::GilbertElliott { to_bad, to_good, lost_in_bad, lost_in_good } => {
            share("loss.to_bad", *to_bad)?;
            share("loss.to_good", *to_good)?;
            share("loss.lost_in_bad", *lost_in_bad)?;
            share("loss.lost_in_good", *lost_in_good)
        }
        Loss::Pattern { runs } => {
            ensure(runs.len().is_multiple_of(2), || {
                "loss.runs: needs pairs of counts, kept and lost".into()
            })?;
            ensure(runs.iter().any(|&run| run > 0), || "loss.runs: names no frame".into())
        }
    }
}

fn reorder(reorder: &Reorder) -> Check {
    share("reorder.share", reorder.share)?;
    correlation("reorder.correlation", reorder.correlation)?;
    ensure(reorder.gap > 0, || "reorder.gap: 0 is no gap, 1 is the least".into())
}

fn rate(rate: &Rate) -> Check {
    speed("rate.bps", rate.bps)?;
    ensure(rate.bps > 0, || "rate.bps: nothing passes at a rate of 0".into())?;
    ensure(rate.refills.is_none_or(|refills| (1..=MOST_REFILLS).contains(&refills)), || {
        format!("rate.refills: is not between 1 and {MOST_REFILLS}")
    })?;
    ensure(rate.overhead_bytes.max(rate.minimum_bytes) <= LARGEST_FRAMING, || {
        format!("rate: overhead_bytes and minimum_bytes are at most {LARGEST_FRAMING}")
    })
}

fn queue(queue: &Queue) -> Check {
    ensure(queue.packets.is_none() || queue.bytes.is_none(), || {
        "queue: give packets or bytes, not both".into()
    })?;
    let own = queue.packets.is_some()
        || queue.bytes.is_some()
        || queue.discipline != Discipline::DropTail;
    ensure(queue.place == QueuePlace::Link || !own, || {
        "queue.held: what waits at the sender has its interface's size and discipline".into()
    })?;
    match queue.discipline {
        Discipline::DropTail => Ok(()),
        Discipline::Codel { target_ns, interval_ns } => {
            for (name, ns) in [("target_ns", target_ns), ("interval_ns", interval_ns)] {
                positive(&format!("queue.discipline.{name}"), ns)?;
                time(&format!("queue.discipline.{name}"), ns)?;
            }
            Ok(())
        }
        Discipline::Red { min_bytes, max_bytes, probability, weight } => {
            ensure(min_bytes < max_bytes, || {
                "queue.discipline: min_bytes has to be less than max_bytes".into()
            })?;
            share("queue.discipline.probability", probability)?;
            share("queue.discipline.weight", weight)
        }
    }
}

fn trace(trace: &Trace) -> Check {
    match trace {
        Trace::Rate { points, period_ns } => {
            steps(points.iter().map(|p| p.0), *period_ns)?;
            points.iter().try_for_each(|p| speed("trace.points", p.1))?;
            let steps = Steps::new(0, points.clone(), *period_ns);
            ensure(steps.mean_rate(steps.round().as_ref()) > 0, || {
                "trace.points: in the long run nothing passes".into()
            })
        }
        Trace::Delay { points, routes, period_ns } => {
            steps(points.iter().map(|p| p.0), *period_ns)?;
            ensure(routes.is_empty() || routes.len() == points.len(), || {
                "trace.routes: needs a route for each point".into()
            })?;
            points.iter().try_for_each(|p| time("trace.points", p.1))
        }
        Trace::Opportunities { at_ns, period_ns, bytes } => {
            ensure(*bytes > 0, || "trace.bytes: nothing passes".into())?;
            positive("trace.period_ns", *period_ns)?;
            length(*period_ns)?;
            ensure(!at_ns.is_empty(), || "trace.at_ns: is empty".into())?;
            ensure(at_ns.is_sorted(), || "trace.at_ns: goes back in time".into())?;
            ensure(at_ns[0] >= 0 && at_ns[at_ns.len() - 1] <= *period_ns, || {
                "trace.at_ns: has to lie between 0 and period_ns".into()
            })?;
            let mean = Opportunities::new(0, at_ns.clone(), *period_ns, *bytes).mean_bps();
            speed("trace.bytes", mean)?;
            ensure(mean > 0, || "trace: passes less than a bit per second".into())
        }
    }
}

/// Check the times of a trace's points.
fn steps(mut at_ns: impl Iterator<Item = i64>, period_ns: Option<i64>) -> Check {
    ensure(at_ns.next() == Some(0), || "trace.points: the first has to be at 0".into())?;
    let mut last = 0;
    for at in at_ns {
        ensure(at > last, || format!("trace.points: {at} ns does not follow {last} ns"))?;
        last = at;
    }
    length(period_ns.unwrap_or(last))?;
    ensure(period_ns.is_none_or(|period| period > last), || {
        format!("trace.period_ns: has to be more than the last point's {last} ns")
    })
}

fn length(ns: i64) -> Check {
    ensure(ns <= LONGEST_TRACE_NS, || "trace: is longer than 31 days".into())
}

fn share(name: &str, value: f64) -> Check {
    ensure((0.0..=1.0).contains(&value), || format!("{name}: {value} is not between 0 and 1"))
}

fn correlation(name: &str, value: f64) -> Check {
    ensure((0.0..1.0).contains(&value), || {
        format!("{name}: {value} is not between 0 and 1, 1 itself left out")
    })
}

fn time(name: &str, ns: i64) -> Check {
    ensure((0..=LONGEST_NS).contains(&ns), || format!("{name}: {ns} is not between 0 and an hour"))
}

fn positive(name: &str, ns: i64) -> Check {
    ensure(ns > 0, || format!("{name}: {ns} is not more than 0"))
}

fn speed(name: &str, bps: u64) -> Check {
    ensure(bps <= FASTEST_BPS, || format!("{name}: {bps} bit/s is more than 1 Tbit/s"))
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(otherwise()) }
}
