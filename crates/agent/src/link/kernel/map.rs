//! The mapping of conditions to the features of the kernel's qdiscs.

use delaylab_link::{Conditions, Discipline, Jitter, Loss, Rate, Reorder};
use delaylab_os::tcx_loss::Chances;

use super::can::{Can, Part};
use super::want::{Bounds, NEVER, Netem, Shape, Want};
use super::{limits, table};

/// The largest spread that netem accepts; it keeps it as a signed 32-bit integer.
const LARGEST_JITTER_NS: i64 = i32::MAX as i64;

/// Map conditions to this kernel's features; the error is one line that names the unsupported condition.
pub fn want(asked: &Conditions, can: &Can, bounds: Bounds) -> Result<Want, String> {
    refuse_what_no_kernel_does(asked)?;
    let shape = asked.rate.as_ref().map(|rate| shape(asked, rate, can, bounds)).transpose()?;
    let chances = asked.loss.as_ref().map(chances).filter(|chances| *chances != NEVER);
    let only_netem = [
        ("delay_ns", asked.delay_ns > 0),
        ("jitter", asked.jitter.is_some()),
        ("duplicate", asked.duplicate > 0.0),
        ("corrupt", asked.corrupt > 0.0),
        ("reorder", asked.reorder.is_some()),
    ];
    if let Some((condition, _)) = only_netem.iter().find(|(_, asked)| *asked) {
        can.require(Part::Netem, condition)?;
    }
    let queued = shape.is_some() || only_netem.iter().any(|(_, asked)| *asked);
    if queued {
        can.require_way_round()?;
    }
    if !can.has(Part::Netem) {
        if chances.is_some() {
            can.require(Part::Tcx, "loss")?;
        }
        return Ok(Want { netem: None, shape, loss: chances });
    }
    if !queued && chances.is_none() {
        return Ok(Want::default());
    }
    can.require_way_round()?;
    let netem = netem(asked, chances, shape.as_ref(), bounds);
    Ok(Want { netem: Some(netem), shape, loss: None })
}

fn refuse_what_no_kernel_does(asked: &Conditions) -> Result<(), String> {
    let refuse = |what: &str| Err(format!("the kernel engine has no {what}"));
    if asked.trace.is_some() {
        return refuse("`trace`");
    }
    if matches!(asked.loss, Some(Loss::Pattern { .. })) {
        return refuse("`loss` by a pattern");
    }
    if asked.held_by_sender() {
        return refuse("`queue: sender`");
    }
    let discipline = asked.queue.as_ref().map(|queue| &queue.discipline);
    if matches!(discipline, Some(Discipline::Red { .. })) {
        return refuse("`red` queues");
    }
    if let Some(Jitter { correlation, spread_ns, .. }) = &asked.jitter {
        if *correlation > 0.0 {
            // netem correlates its uniform draws, but indexes the table by their lowest bits
            // (net/sched/sch_netem.c, `tabledist`).
            return refuse("correlation of `jitter`: netem's has no effect");
        }
        if *spread_ns > LARGEST_JITTER_NS {
            return Err(format!("netem's jitter ends at a spread of {LARGEST_JITTER_NS} ns"));
        }
    }
    if matches!(asked.reorder, Some(Reorder { correlation, .. }) if correlation > 0.0) {
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

fn shape(asked: &Conditions, rate: &Rate, can: &Can, bounds: Bounds) -> Result<Shape, String> {
    can.require(Part::Tbf, "rate")?;
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
        room: limits::room(asked, can)?,
    })
}

fn netem(
    asked: &Conditions,
    loss: Option<Chances>,
    shape: Option<&Shape>,
    bounds: Bounds,
) -> Netem {
    let jitter = asked.jitter.as_ref().map(table::of);
    Netem {
        delay_ns: asked.delay_ns,
        limit: limits::frames(asked.delay_ns, jitter.as_ref(), shape, bounds),
        jitter,
        loss,
        duplicate: asked.duplicate,
        corrupt: asked.corrupt,
        reorder: asked.reorder.as_ref().map(|reorder| (reorder.share, reorder.gap)),
    }
}
