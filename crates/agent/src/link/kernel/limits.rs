//! How much may wait in the kernel's queues.

use delaylab_link::{Conditions, Discipline, Limit};

use super::can::{Can, Part};
use super::table::Table;
use super::want::{Bounds, Room, Shape};

/// What a frame without rate limit follows another at the earliest: 64 bytes on gigabit Ethernet.
const FASTEST_FRAMES_PER_SECOND: f64 = 1_488_095.0;
/// What a full frame takes of the kernel's memory.
const FRAME_MEMORY: u64 = 2304;
/// What the token bucket may save up beside two frames, since its timer is late: what the rate carries
/// in 10 ms, but no more than these bytes. What it cannot save up is lost to the rate.
const SAVED_PER_SECOND: u64 = 100;
const MOST_SAVED: u64 = 128 << 10;

/// What may leave at once after a pause.
pub fn burst(bytes_per_second: u64, bounds: Bounds) -> u32 {
    let saved = (bytes_per_second / SAVED_PER_SECOND).min(MOST_SAVED);
    saturated(2 * u64::from(bounds.longest) + saved)
}

/// Where frames wait for the rate, and how many can.
pub fn room(asked: &Conditions, can: &Can) -> Result<Room, String> {
    let limit = asked.queue_limit().unwrap_or(Limit::Packets(u64::MAX));
    let discipline = asked.queue.as_ref().map(|queue| &queue.discipline);
    if let Some(&Discipline::Codel { target_ns, interval_ns }) = discipline {
        can.require(Part::Codel, "queue with codel")?;
        let limit = match limit {
            Limit::Packets(packets) => packets,
            Limit::Bytes(bytes) => bytes / 1514,
        };
        let micros = |ns: i64| saturated((ns as u64).div_ceil(1000));
        let (target_us, interval_us) = (micros(target_ns), micros(interval_ns));
        return Ok(Room::Codel { target_us, interval_us, limit: saturated(limit.max(1)) });
    }
    Ok(match limit {
        Limit::Packets(packets) => Room::Packets(saturated(packets)),
        Limit::Bytes(bytes) => Room::Bytes(saturated(bytes)),
    })
}

/// What can be under way: what arrives at most while a frame is delayed, and what waits; but no more than the
/// memory is for.
pub fn frames(delay_ns: i64, jitter: Option<&Table>, shape: Option<&Shape>, bounds: Bounds) -> u32 {
    let per_second = shape.map_or(FASTEST_FRAMES_PER_SECOND, |shape| {
        shape.bytes_per_second as f64 / f64::from(shape.minimum.max(60))
    });
    let longest_ns = delay_ns.saturating_add(jitter.map_or(0, Table::longest_ns));
    let under_way = (longest_ns as f64 / 1e9 * per_second.min(FASTEST_FRAMES_PER_SECOND)) as u64;
    let waiting = match shape.map(|shape| shape.room) {
        None => 0,
        Some(Room::Bytes(bytes)) => u64::from(bytes) / 60,
        Some(Room::Packets(packets)) => packets.into(),
        Some(Room::Codel { limit, .. }) => limit.into(),
    };
    let memory = bounds.memory_bytes / FRAME_MEMORY;
    saturated((1000 + under_way + waiting).min(memory).max(1))
}

fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
