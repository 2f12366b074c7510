//! The mapping of conditions to the features of the kernel's qdiscs.

use delaylab_link::{Conditions, Discipline, Jitter, Loss, Rate, Reorder};
use delaylab_os::clsact::Chances;

use super::setup::{Bounds, NEVER, Netem, Setup, Shape};
use super::support::{Feature, Support};
use super::{jitter_table, limits};

/// The largest spread that netem accepts; it keeps it as a signed 32-bit integer.
const LARGEST_JITTER_NS: i64 = i32::MAX as i64;

/// Map conditions to this kernel's features; the error is one line that names the unsupported condition.
pub(super) fn setup(
    conditions: &Conditions,
    support: &Support,
    bounds: Bounds,
) -> Result<Setup, String> {
    refuse_what_no_kernel_does(conditions)?;
    let shape = conditions
        .rate
        .as_ref()
        .map(|rate| shape(conditions, rate, support, bounds))
        .transpose()?;
    let chances = conditions.loss.as_ref().map(chances).filter(|chances| *chances != NEVER);
    let only_netem = [
        ("delay_ns", conditions.delay_ns > 0),
        ("jitter", conditions.jitter.is_some()),
        ("duplicate", conditions.duplicate > 0.0),
        ("corrupt", conditions.corrupt > 0.0),
        ("reorder", conditions.reorder.is_some()),
    ];
    if let Some((condition, _)) = only_netem.iter().find(|(_, conditions)| *conditions) {
        support.require(Feature::Netem, condition)?;
    }
    let queued = shape.is_some() || only_netem.iter().any(|(_, conditions)| *conditions);
    if queued {
        support.require_redirection()?;
    }
    if !support.has(Feature::Netem) {
        if chances.is_some() {
            support.require(Feature::Bpf, "loss")?;
        }
        return Ok(Setup { netem: None, shape, loss: chances });
    }
    if !queued && chances.is_none() {
        return Ok(Setup::default());
    }
    support.require_redirection()?;
    let netem = netem(conditions, chances, shape.as_ref(), bounds);
    Ok(Setup { netem: Some(netem), shape, loss: None })
}

fn refuse_what_no_kernel_does(conditions: &Conditions) -> Result<(), String> {
    let refuse = |what: &str| Err(format!("the kernel engine has no {what}"));
    if conditions.trace.is_some() {
        return refuse("`trace`");
    }
    if matches!(conditions.loss, Some(Loss::Pattern { .. })) {
        return refuse("`loss` by a pattern");
    }
    if conditions.held_by_sender() {
        return refuse("`queue: sender`");
    }
    let discipline = conditions.queue.as_ref().map(|queue| &queue.discipline);
    if matches!(discipline, Some(Discipline::Red { .. })) {
        return refuse("`red` queues");
    }
    if let Some(Jitter { correlation, spread_ns, .. }) = &conditions.jitter {
        if *correlation > 0.0 {
            // netem correlates its uniform draws, but indexes the table by their lowest bits
            // (net/sched/sch_netem.c, `tabledist`).
            return refuse("correlation of `jitter`: netem's has no effect");
        }
        if *spread_ns > LARGEST_JITTER_NS {
            return Err(format!("netem's jitter ends at a spread of {LARGEST_JITTER_NS} ns"));
        }
    }
    if matches!(conditions.reorder, Some(Reorder { correlation, .. }) if correlation > 0.0) {
        return refuse("correlation of `reorder`: netem's changes the share");
    }
    Ok(())
}

/// Map loss to a chain of two states. For correlated loss the bad state loses all frames.
fn chances(loss: &Loss) -> Chances {
    match *loss {
        Loss::Independent { share, correlation: 0.0 } => Chances { lost_in_good: share, ..NEVER },
        Loss::Independent { share, correlation } => Chances {
            to_bad: share * (1.0 - correlation),
            to_good: (1.0 - share) * (1.0 - correlation),
            lost_in_bad: 1.0,
            lost_in_good: 0.0,
        },
        Loss::GilbertElliott { to_bad, to_good, lost_in_bad, lost_in_good } => {
            Chances { to_bad, to_good, lost_in_bad, lost_in_good }
        }
        Loss::Pattern { .. } => NEVER,
    }
}

fn shape(
    conditions: &Conditions,
    rate: &Rate,
    support: &Support,
    bounds: Bounds,
) -> Result<Shape, String> {
    support.require(Feature::Tbf, "rate")?;
    let bytes_per_second = rate.bps / 8;
    if bytes_per_second == 0 {
        return Err(format!("the kernel engine has no rate of {} bit/s: 8 is its least", rate.bps));
    }
    let framing = |bytes: u32| {
        let why = || format!("the kernel engine counts framing up to {} bytes", u16::MAX);
        u16::try_from(bytes).map_err(|_| why())
    };
    Ok(Shape {
        bytes_per_second,
        overhead: framing(rate.overhead_bytes)?,
        minimum: framing(rate.minimum_bytes)?,
        burst: limits::burst(bytes_per_second, bounds),
        queue: limits::queue(conditions, support)?,
    })
}

fn netem(
    conditions: &Conditions,
    loss: Option<Chances>,
    shape: Option<&Shape>,
    bounds: Bounds,
) -> Netem {
    let jitter = conditions.jitter.as_ref().map(jitter_table::of);
    Netem {
        delay_ns: conditions.delay_ns,
        limit: limits::frames(conditions.delay_ns, jitter.as_ref(), shape, bounds),
        jitter,
        loss,
        duplicate: conditions.duplicate,
        corrupt: conditions.corrupt,
        reorder: conditions.reorder.as_ref().map(|reorder| (reorder.share, reorder.gap)),
    }
}
