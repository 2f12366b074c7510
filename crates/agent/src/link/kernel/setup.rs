//! The kernel's setup of one direction, in terms of what its qdiscs can do, and the mapping of conditions to it.

use delaylab_link::{
    Conditions, Discipline, Jitter, Limit, LinkState, Loss, Rate, Reorder, jitter_quantile,
};
use delaylab_os::clsact::Chances;
use delaylab_proto::Failure;
use delaylab_wire::{ETHERNET_HEADER, VLAN_TAG};

use super::features::{Feature, Support};
use super::limits::{KERNEL_FRAMING, KERNEL_SLOWEST_BPS, KERNEL_SPREAD_NS};
use crate::link::configured::ConfiguredConditions;
use crate::protocol::links::EngineLinks;

/// The setup of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Setup {
    pub netem: Option<Netem>,
    pub shape: Option<Shape>,
    /// Loss by a program at the port's ingress, used if the kernel has no netem.
    pub loss: Option<Chances>,
}

/// The options of netem.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Netem {
    pub delay_ns: i64,
    pub jitter: Option<JitterTable>,
    /// The maximum number of frames in it, including those that wait for the rate.
    pub limit: u32,
    pub loss: Option<Chances>,
    pub duplicate: f64,
    pub corrupt: f64,
    /// The share and the gap of reordering.
    pub reorder: Option<(f64, u32)>,
}

/// The options of the token bucket.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub bytes_per_second: u64,
    pub overhead: u16,
    pub minimum: u16,
    pub burst: u32,
    pub queue: RateQueue,
}

/// The queue for the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateQueue {
    Bytes(u32),
    Packets(u32),
    Codel { target_us: u32, interval_us: u32, limit: u32 },
}

/// Bounds that apply to all frames of a direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The length of the longest frame with its header.
    pub longest: u32,
    /// The memory for waiting frames of one direction.
    pub memory_bytes: u64,
}

/// Loss that never happens.
pub(super) const NEVER: Chances =
    Chances { to_bad: 0.0, to_good: 1.0, lost_in_bad: 0.0, lost_in_good: 0.0 };

impl Setup {
    /// Keep the qdiscs of `before` even where no condition needs them any more: removing one would lose its
    /// waiting frames.
    pub(crate) fn keeping(mut self, before: &Self) -> Self {
        if let (None, Some(shape)) = (&self.shape, &before.shape) {
            self.shape = Some(Shape::without_limit(shape));
        }
        if let (None, Some(netem)) = (&self.netem, &before.netem) {
            self.netem = Some(Netem { limit: netem.limit, ..Netem::default() });
        }
        if let (None, Some(_)) = (self.loss, before.loss) {
            self.loss = Some(NEVER);
        }
        self
    }
}

impl Shape {
    /// Return a shape that holds nothing back.
    fn without_limit(before: &Self) -> Self {
        let bytes_per_second = 1 << 37;
        let queue = match before.queue {
            RateQueue::Bytes(_) => RateQueue::Bytes(u32::MAX),
            RateQueue::Packets(_) => RateQueue::Packets(u32::MAX),
            codel @ RateQueue::Codel { .. } => codel,
        };
        Self { bytes_per_second, overhead: 0, minimum: 0, burst: 1 << 20, queue }
    }
}

/// Return the required setup of every direction.
pub(crate) fn setups(
    links: &EngineLinks,
    configured: &ConfiguredConditions,
    support: &Support,
) -> Result<Vec<Setup>, Failure> {
    let numbers = 0..configured.directions().len();
    numbers.map(|number| setup_of(links, configured, support, number)).collect()
}

/// Return the required setup of one direction.
pub(crate) fn setup_of(
    links: &EngineLinks,
    configured: &ConfiguredConditions,
    support: &Support,
    number: usize,
) -> Result<Setup, Failure> {
    let direction = &configured.directions()[number];
    let mtu = links.links.iter().find(|link| link.link == direction.link).map_or(0, |l| l.mtu);
    let memory_bytes = links.memory_bytes / configured.directions().len() as u64;
    let bounds = Bounds { longest: mtu + (ETHERNET_HEADER + VLAN_TAG) as u32, memory_bytes };
    let made = match direction.receives {
        false => mapped(direction.configured.conditions(), support, bounds),
        true => Err("the kernel engine has no conditions at the receiver".into()),
    };
    made.map_err(|why| {
        Failure::new(format!("make the conditions of {}", direction.name()), why)
            .fix("take `engine: own`, which needs nothing of the kernel")
    })
}

/// Map conditions to this kernel's features; the error is one line that names the unsupported condition.
pub(super) fn mapped(
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
    if conditions.state == LinkState::Silent {
        return refuse("`state: silent`");
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
    if conditions.rate.as_ref().is_some_and(|rate| rate.refills.is_some()) {
        return refuse("`refills` of `rate`");
    }
    if conditions.jitter.as_ref().is_some_and(|jitter| jitter.half_life_ns.is_some()) {
        return refuse("`half_life` of `jitter`");
    }
    if let Some(Jitter { correlation, spread_ns, .. }) = &conditions.jitter {
        if *correlation > 0.0 {
            // netem correlates its uniform draws, but indexes the table by their lowest bits
            // (net/sched/sch_netem.c, `tabledist`).
            return refuse("correlation of `jitter`: netem's has no effect");
        }
        if *spread_ns > KERNEL_SPREAD_NS {
            return Err(format!("netem's jitter ends at a spread of {KERNEL_SPREAD_NS} ns"));
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
    if rate.bps < KERNEL_SLOWEST_BPS {
        return Err(format!("the kernel engine has no rate below {KERNEL_SLOWEST_BPS} bit/s"));
    }
    let bytes_per_second = rate.bps / 8;
    let framing = |bytes: u32| {
        let why = || format!("the kernel engine counts framing up to {KERNEL_FRAMING} bytes");
        u16::try_from(bytes).map_err(|_| why())
    };
    Ok(Shape {
        bytes_per_second,
        overhead: framing(rate.overhead_bytes)?,
        minimum: framing(rate.minimum_bytes)?,
        burst: burst(bytes_per_second, bounds),
        queue: rate_queue(conditions, support)?,
    })
}

fn netem(
    conditions: &Conditions,
    loss: Option<Chances>,
    shape: Option<&Shape>,
    bounds: Bounds,
) -> Netem {
    let jitter = conditions.jitter.as_ref().map(jitter_table);
    Netem {
        delay_ns: conditions.delay_ns,
        limit: frame_limit(conditions.delay_ns, jitter.as_ref(), shape, bounds),
        jitter,
        loss,
        duplicate: conditions.duplicate,
        corrupt: conditions.corrupt,
        reorder: conditions.reorder.as_ref().map(|reorder| (reorder.share, reorder.gap)),
    }
}

/// The highest frame rate without a rate limit: 64-byte frames on gigabit Ethernet.
const FASTEST_FRAMES_PER_SECOND: f64 = 1_488_095.0;
/// The kernel memory of a full frame, in bytes.
const FRAME_MEMORY: u64 = 2304;
/// The token bucket's burst beyond two frames, because its timer is late: the bytes of 10 ms at the rate, but
/// no more than `MOST_SAVED`. Tokens beyond the burst are lost to the rate.
const SAVED_PER_SECOND: u64 = 100;
const MOST_SAVED: u64 = 128 << 10;

/// Return the burst of a token bucket in bytes.
pub(super) fn burst(bytes_per_second: u64, bounds: Bounds) -> u32 {
    let saved = (bytes_per_second / SAVED_PER_SECOND).min(MOST_SAVED);
    saturated(2 * u64::from(bounds.longest) + saved)
}

/// Return the queue for the rate: its kind and its limit.
fn rate_queue(conditions: &Conditions, support: &Support) -> Result<RateQueue, String> {
    let limit = conditions.queue_limit().unwrap_or(Limit::Packets(u64::MAX));
    let discipline = conditions.queue.as_ref().map(|queue| &queue.discipline);
    if let Some(&Discipline::Codel { target_ns, interval_ns }) = discipline {
        support.require(Feature::Codel, "queue with codel")?;
        let limit = match limit {
            Limit::Packets(packets) => packets,
            Limit::Bytes(bytes) => bytes / 1514,
        };
        let micros = |ns: i64| saturated((ns as u64).div_ceil(1000));
        let (target_us, interval_us) = (micros(target_ns), micros(interval_ns));
        return Ok(RateQueue::Codel { target_us, interval_us, limit: saturated(limit.max(1)) });
    }
    Ok(match limit {
        Limit::Packets(packets) => RateQueue::Packets(saturated(packets)),
        Limit::Bytes(bytes) => RateQueue::Bytes(saturated(bytes)),
    })
}

/// Return the limit of frames in netem: all that can arrive while a frame is delayed, and all that can wait,
/// but no more than fit into the memory.
fn frame_limit(
    delay_ns: i64,
    jitter: Option<&JitterTable>,
    shape: Option<&Shape>,
    bounds: Bounds,
) -> u32 {
    let per_second = shape.map_or(FASTEST_FRAMES_PER_SECOND, |shape| {
        shape.bytes_per_second as f64 / f64::from(shape.minimum.max(60))
    });
    let longest_ns = delay_ns.saturating_add(jitter.map_or(0, JitterTable::longest_ns));
    let under_way = (longest_ns as f64 / 1e9 * per_second.min(FASTEST_FRAMES_PER_SECOND)) as u64;
    let waiting = match shape.map(|shape| shape.queue) {
        None => 0,
        Some(RateQueue::Bytes(bytes)) => u64::from(bytes) / 60,
        Some(RateQueue::Packets(packets)) => packets.into(),
        Some(RateQueue::Codel { limit, .. }) => limit.into(),
    };
    let memory = bounds.memory_bytes / FRAME_MEMORY;
    saturated((1000 + under_way + waiting).min(memory).max(1))
}

fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The number of values, the most that netem accepts (linux/pkt_sched.h, `NETEM_DIST_MAX`).
const VALUES: usize = 16_384;
/// The table value of one unit.
const SCALE: f64 = 8192.0;

/// A table: its unit in ns, and the values in 8192ths of the unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JitterTable {
    pub unit_ns: u32,
    pub values: Vec<i16>,
}

impl JitterTable {
    /// Return the largest value that a table can have.
    pub(crate) fn longest_ns(&self) -> i64 {
        4 * i64::from(self.unit_ns)
    }
}

/// Build the table of some jitter. Its unit is the spread, unless values beyond 3.99 spreads require a larger
/// one.
fn jitter_table(jitter: &Jitter) -> JitterTable {
    let shares = (0..VALUES).map(|place| (place as f64 + 0.5) / VALUES as f64);
    let spreads: Vec<f64> = shares.map(|share| jitter_quantile(jitter, share)).collect();
    let largest = spreads.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let unit = (largest * SCALE / f64::from(i16::MAX)).max(1.0);
    let values = spreads.iter().map(|value| (value / unit * SCALE).round() as i16).collect();
    let unit_ns = (jitter.spread_ns as f64 * unit).round() as u32;
    JitterTable { unit_ns, values }
}

#[cfg(test)]
mod tests {
    use delaylab_link::Distribution;

    use super::*;

    #[test]
    fn tables_have_the_mean_and_the_spread_of_what_is_asked() {
        let spread_ns = 1_000_000;
        for (distribution, deviation) in [
            (Distribution::Uniform, 1.0 / 3f64.sqrt()),
            (Distribution::Normal, 1.0),
            (Distribution::Pareto, 1.0),
            (Distribution::ParetoNormal, 1.0),
            (Distribution::Table(vec![-10.0, 10.0]), 10.0),
        ] {
            let table = jitter_table(&Jitter {
                spread_ns,
                distribution,
                correlation: 0.0,
                half_life_ns: None,
            });
            let unit = f64::from(table.unit_ns) / f64::from(spread_ns as u32) / SCALE;
            let values: Vec<f64> = table.values.iter().map(|v| f64::from(*v) * unit).collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
            assert!(mean.abs() < 0.002, "{mean}");
            assert!(
                (square.sqrt() / deviation - 1.0).abs() < 0.01,
                "{} {deviation}",
                square.sqrt()
            );
        }
    }
}
