//! The configured conditions of one direction of a link. All conditions are one way; a key that is left out
//! is not configured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits;

/// The conditions that one direction of a link applies to its frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The one-way delay of every frame, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_ns: i64,
    /// The random variation of the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// The loss of frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The share of frames that are duplicated.
    #[serde(default, skip_serializing_if = "is_zero_share")]
    pub duplicate: f64,
    /// The share of frames in which one bit is flipped.
    #[serde(default, skip_serializing_if = "is_zero_share")]
    pub corrupt: f64,
    /// The share of frames that overtake others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// The rate at which frames leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The queue for the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// A rate or a delay that changes over time; it replaces `rate.bps` or `delay_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// The state of the sender's end of the link.
    #[serde(default, skip_serializing_if = "LinkState::is_up")]
    pub state: LinkState,
}

/// The state of a sender's end of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// Frames pass.
    #[default]
    Up,
    /// The end has no carrier: no frame passes in either direction. The user of a [`crate::Pipe`] must take the
    /// carrier.
    Down,
    /// The sender's frames vanish, and nothing tells it.
    Silent,
}

impl LinkState {
    /// Return true if frames pass.
    #[must_use]
    pub fn is_up(&self) -> bool {
        *self == Self::Up
    }
}

/// A random part of the delay, drawn for every frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// The half width of `uniform`, the standard deviation of the other shapes, or the unit of a table; in
    /// ns.
    pub spread_ns: i64,
    /// The shape of the random part.
    #[serde(default)]
    pub distribution: Distribution,
    /// The rank correlation of successive frames, from 0 up to but not including 1.
    #[serde(default)]
    pub correlation: f64,
    /// The time after which the correlation of the normal scores that jitter is made of has halved, in place of
    /// `correlation`: it does not depend on the rate of frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_life_ns: Option<i64>,
}

/// The shape of jitter. All but a table have mean 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// The uniform distribution: all values within the spread are equally likely.
    #[default]
    Uniform,
    /// The normal distribution.
    Normal,
    /// The Pareto distribution with shape 3: a long tail of late frames.
    Pareto,
    /// A mix of one quarter normal and three quarters Pareto.
    ParetoNormal,
    /// Equally likely values, in units of the spread.
    Table(Vec<f64>),
}

/// The loss model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// Independent loss of a share of all frames.
    Independent {
        /// The share of frames that are lost, from 0 to 1.
        share: f64,
        /// The correlation of successive frames' losses, from 0 up to but not including 1.
        #[serde(default)]
        correlation: f64,
    },
    /// The Gilbert-Elliott model: a good and a bad state, each with its own share of losses.
    GilbertElliott {
        /// The probability that the state changes from good to bad before a frame.
        to_bad: f64,
        /// The probability that the state changes from bad to good before a frame.
        to_good: f64,
        /// The share of frames lost in the bad state.
        #[serde(default = "one")]
        lost_in_bad: f64,
        /// The share of frames lost in the good state.
        #[serde(default)]
        lost_in_good: f64,
    },
    /// A repeated pattern of frame counts: kept, lost, kept, lost, …
    Pattern {
        /// The counts, an even number of them.
        runs: Vec<u32>,
    },
}

/// Reordering: frames that go without delay and so overtake earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// The share of the candidates that overtake.
    pub share: f64,
    /// The correlation of successive candidates, from 0 up to but not including 1.
    #[serde(default)]
    pub correlation: f64,
    /// The distance between overtaking frames: after `gap - 1` frames that did not overtake, every frame is a
    /// candidate until one does.
    #[serde(default = "one_frame")]
    pub gap: u32,
}

/// The rate of a link, which determines how long a frame occupies it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Bits per second, framing included.
    pub bps: u64,
    /// The bytes that the medium adds to every frame; 24 for Ethernet's preamble, check sequence and gap.
    #[serde(default = "ethernet_overhead")]
    pub overhead_bytes: u32,
    /// The minimum bytes that a frame occupies with its overhead; 84 for Ethernet's shortest frame.
    #[serde(default = "ethernet_minimum")]
    pub minimum_bytes: u32,
    /// The times per second at which a budget of bytes is set anew, in place of a time for each frame: a frame
    /// passes at once while a byte of the budget is left, and the next one waits for the next budget. It is how
    /// V-eM shapes (Apostolopoulos and Chasapis 2006, IV B).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refills: Option<u32>,
}

/// The queue in which frames wait for the rate. If no size is given it follows from rate and delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// The maximum number of waiting frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// The maximum number of waiting bytes, counted from the Ethernet headers on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The place of the queue.
    #[serde(rename = "held", default, skip_serializing_if = "QueuePlace::is_link")]
    pub place: QueuePlace,
    /// The queueing discipline.
    #[serde(default)]
    pub discipline: Discipline,
}

/// The place where frames wait for the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueuePlace {
    /// The link: a frame that finds no room there is lost.
    #[default]
    Link,
    /// The sender's own interface, which sends no faster than the rate; the user of a [`crate::Pipe`] must
    /// configure that. The link's queue then has no bound.
    Sender,
}

impl QueuePlace {
    fn is_link(&self) -> bool {
        *self == Self::Link
    }
}

/// A queueing discipline: the rule by which a queue drops frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Discipline {
    /// Drop frames that arrive at a full queue.
    #[default]
    DropTail,
    /// Controlled delay (RFC 8289).
    Codel {
        /// The acceptable standing waiting time.
        #[serde(default = "codel_target")]
        target_ns: i64,
        /// The time for which a longer waiting time is tolerated.
        #[serde(default = "codel_interval")]
        interval_ns: i64,
    },
    /// Random early detection (Floyd and Jacobson 1993).
    Red {
        /// The mean queue length above which frames are dropped.
        min_bytes: u64,
        /// The mean queue length above which all frames are dropped.
        max_bytes: u64,
        /// The share of frames dropped as the mean length approaches `max_bytes`.
        probability: f64,
        /// The weight of the current length in its moving mean.
        #[serde(default = "red_weight")]
        weight: f64,
    },
}

/// A trace: a rate or a delay that changes over time. Times count from the moment when the trace was set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Trace {
    /// The rate in bits per second from each time on; 0 is an outage.
    Rate {
        /// `(at_ns, bps)`, the first at 0.
        points: Vec<(i64, u64)>,
        /// The period after which the points repeat; they do not if it is left out.
        #[serde(default)]
        period_ns: Option<i64>,
    },
    /// The delay in nanoseconds from each time on.
    Delay {
        /// `(at_ns, delay_ns)`, the first at 0.
        points: Vec<(i64, i64)>,
        /// The route from each point on, any number for each: frames of two routes may overtake each other, and
        /// those of one do not. Left out, all are of one route.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        routes: Vec<u32>,
        /// The period after which the points repeat; they do not if it is left out.
        #[serde(default)]
        period_ns: Option<i64>,
    },
    /// The times at which some bytes may leave, as in mahimahi's files.
    Opportunities {
        /// The times in ascending order; several may be equal.
        at_ns: Vec<i64>,
        /// The period after which the times repeat.
        period_ns: i64,
        /// The number of bytes that may leave at each time.
        #[serde(default = "opportunity_bytes")]
        bytes: u32,
    },
}

impl Rate {
    /// Build a rate with Ethernet's framing.
    pub fn ethernet(bps: u64) -> Self {
        Rate {
            bps,
            overhead_bytes: ethernet_overhead(),
            minimum_bytes: ethernet_minimum(),
            refills: None,
        }
    }
}

/// Return the bytes that Ethernet adds to a frame: preamble (8), check sequence (4) and gap between frames
/// (12).
fn ethernet_overhead() -> u32 {
    limits::OVERHEAD_BYTES
}

/// Return the bytes of Ethernet's shortest frame (64) with preamble and gap.
fn ethernet_minimum() -> u32 {
    limits::MINIMUM_BYTES
}

/// Return CoDel's default target (RFC 8289, section 4.4).
fn codel_target() -> i64 {
    limits::CODEL_TARGET_NS
}

/// Return CoDel's default interval (RFC 8289, section 4.3).
fn codel_interval() -> i64 {
    limits::CODEL_INTERVAL_NS
}

/// Return RED's default weight (Floyd and Jacobson, section 9).
fn red_weight() -> f64 {
    limits::RED_WEIGHT
}

/// Return the bytes of an opportunity: a packet of 1500 bytes and the 4 bytes before it in mahimahi's tunnel.
fn opportunity_bytes() -> u32 {
    limits::OPPORTUNITY_BYTES
}

fn one() -> f64 {
    1.0
}

fn one_frame() -> u32 {
    1
}

fn is_zero(ns: &i64) -> bool {
    *ns == 0
}

fn is_zero_share(share: &f64) -> bool {
    *share == 0.0
}
