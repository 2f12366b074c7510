//! Qdiscs and their options in the kernel's format (linux/pkt_sched.h).

use delaylab_os::clsact::Chances;

use super::setup::{Netem, RateQueue, Setup, Shape};
use crate::network::redirect::attribute;
use crate::network::tbf;

const NETEM: u32 = 0x1_0000;
const TBF: u32 = 0x2_0000;
const ROOM: u32 = 0x3_0000;
const ROOT: u32 = u32::MAX;

const TCA_NETEM_DELAY_DIST: u16 = 2;
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_CORRUPT: u16 = 4;
const TCA_NETEM_LOSS: u16 = 5;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
/// The Gilbert-Elliott model in `TCA_NETEM_LOSS`.
const NETEM_LOSS_GE: u16 = 2;

const TCA_CODEL_TARGET: u16 = 1;
const TCA_CODEL_LIMIT: u16 = 2;
const TCA_CODEL_INTERVAL: u16 = 3;

/// One qdisc of a direction: its place and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Qdisc {
    pub parent: u32,
    pub handle: u32,
    pub kind: &'static str,
    pub options: Vec<u8>,
}

/// A step that creates or changes a qdisc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Make(Qdisc),
    Change(Qdisc),
}

/// Return the qdiscs of a direction, from the outermost on.
pub(super) fn of(setup: &Setup) -> Vec<Qdisc> {
    let mut queues = Vec::new();
    if let Some(options) = &setup.netem {
        queues.push(Qdisc { parent: ROOT, handle: NETEM, kind: "netem", options: netem(options) });
    }
    let Some(shape) = &setup.shape else { return queues };
    let parent = if setup.netem.is_some() { NETEM | 1 } else { ROOT };
    queues.push(Qdisc { parent, handle: TBF, kind: "tbf", options: shaped(shape) });
    // The token bucket's own queue counts bytes; its limit applies there.
    let (kind, options) = match shape.queue {
        RateQueue::Bytes(_) => return queues,
        RateQueue::Packets(limit) => ("pfifo", limit.to_ne_bytes().to_vec()),
        RateQueue::Codel { target_us, interval_us, limit } => ("codel", {
            let word = |kind, value: u32| attribute(kind, &value.to_ne_bytes());
            let fields = [
                word(TCA_CODEL_TARGET, target_us),
                word(TCA_CODEL_LIMIT, limit),
                word(TCA_CODEL_INTERVAL, interval_us),
            ];
            fields.concat()
        }),
    };
    queues.push(Qdisc { parent: TBF | 1, handle: ROOM, kind, options });
    queues
}

/// Return the steps from some qdiscs to others that lose no waiting frame. Qdiscs are never removed
/// ([`Setup::keeping`]).
pub(super) fn steps(before: &[Qdisc], after: &[Qdisc]) -> Result<Vec<Step>, String> {
    let has_room = |queues: &[Qdisc]| queues.iter().any(|queue| queue.handle == ROOM);
    let had_rate = before.iter().any(|queue| queue.handle == TBF);
    if had_rate && has_room(before) != has_room(after) {
        return Err(OTHER_ROOM.into());
    }
    let mut steps = Vec::new();
    // Changing a token bucket overwrites the limit of the queue in it.
    let mut above_changed = false;
    for queue in after {
        match before.iter().find(|other| other.handle == queue.handle) {
            None => steps.push(Step::Make(queue.clone())),
            Some(other) if other.kind != queue.kind => return Err(OTHER_ROOM.into()),
            Some(other) if above_changed || other != queue => {
                above_changed = queue.handle == TBF;
                steps.push(Step::Change(queue.clone()));
            }
            Some(_) => {}
        }
    }
    Ok(steps)
}

const OTHER_ROOM: &str = "the kernel would drop what waits, to make the queue one of another kind (packets, bytes, codel): \
bring the lab up with it";

fn netem(options: &Netem) -> Vec<u8> {
    let (share, gap) = options.reorder.unwrap_or((0.0, 0));
    let simple = options.loss.filter(|chances| chances.to_bad == 0.0);
    // struct tc_netem_qopt: latency (set in 64 bits instead), limit, loss, gap, duplicate, jitter.
    let loss = chance(simple.map_or(0.0, |chances| chances.lost_in_good));
    let mut bytes = words(&[0, options.limit, loss, gap, chance(options.duplicate), 0]);
    bytes.extend(attribute(TCA_NETEM_LATENCY64, &options.delay_ns.to_ne_bytes()));
    if let Some(jitter) = &options.jitter {
        let table: Vec<u8> = jitter.values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        bytes.extend(attribute(TCA_NETEM_JITTER64, &i64::from(jitter.unit_ns).to_ne_bytes()));
        bytes.extend(attribute(TCA_NETEM_DELAY_DIST, &table));
    }
    if gap > 0 {
        bytes.extend(attribute(TCA_NETEM_REORDER, &words(&[chance(share), 0])));
    }
    // Without this attribute the former setting would stay.
    bytes.extend(attribute(TCA_NETEM_CORRUPT, &words(&[chance(options.corrupt), 0])));
    if let (None, Some(chances)) = (simple, &options.loss) {
        bytes.extend(attribute(TCA_NETEM_LOSS, &attribute(NETEM_LOSS_GE, &gilbert(chances))));
    }
    bytes
}

/// Format `struct tc_netem_gemodel`: p, r, h (share kept in the bad state), k1 (share lost in the good
/// state).
fn gilbert(chances: &Chances) -> Vec<u8> {
    let Chances { to_bad, to_good, lost_in_bad, lost_in_good } = *chances;
    words(&[chance(to_bad), chance(to_good), chance(1.0 - lost_in_bad), chance(lost_in_good)])
}

fn shaped(shape: &Shape) -> Vec<u8> {
    let limit_bytes = match shape.queue {
        RateQueue::Bytes(bytes) => bytes,
        RateQueue::Packets(_) | RateQueue::Codel { .. } => u32::MAX,
    };
    let bucket = tbf::Bucket {
        rate_bps: shape.bytes_per_second * 8,
        overhead_bytes: shape.overhead,
        minimum_bytes: shape.minimum,
        burst_bytes: shape.burst,
        limit_bytes,
    };
    bucket.options().into_iter().flat_map(|(kind, value)| attribute(kind, &value)).collect()
}

/// Convert a probability to the kernel's format, in which 2^32 - 1 means always.
fn chance(share: f64) -> u32 {
    (share * f64::from(u32::MAX)).round() as u32
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
