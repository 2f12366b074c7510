//! The limits of the kernel's queues.

use delaylab_link::{Conditions, Discipline, Limit};

use super::jitter_table::JitterTable;
use super::setup::{Bounds, RateQueue, Shape};
use super::support::{Feature, Support};

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
pub(super) fn queue(conditions: &Conditions, support: &Support) -> Result<RateQueue, String> {
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
pub(super) fn frames(
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
