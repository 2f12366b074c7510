//! What a lab asks of one direction of a link. All conditions are one way; a key that is left
//! out is not asked.

use serde::{Deserialize, Serialize};

/// What one direction of a link is to do to its frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// What every frame waits, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_ns: i64,
    /// By how much that varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Which frames are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The share of frames that arrive twice.
    #[serde(default, skip_serializing_if = "is_zero_share")]
    pub duplicate: f64,
    /// The share of frames in which one bit is wrong.
    #[serde(default, skip_serializing_if = "is_zero_share")]
    pub corrupt: f64,
    /// Which frames overtake others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// How fast frames follow each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Where frames wait for the rate, and how many can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// A rate or a delay that changes over time; it stands in for `rate.bps` or `delay_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// A random part of the delay, drawn anew for every frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Half the width of `uniform`, the standard deviation of the others, the unit of a table.
    pub spread_ns: i64,
    /// The shape of the random part.
    #[serde(default)]
    pub distribution: Distribution,
    /// The rank correlation of successive frames, from 0 up to but not including 1.
    #[serde(default)]
    pub correlation: f64,
}

/// The shape of jitter. All but a table have mean 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Anything within the spread, all alike.
    #[default]
    Uniform,
    /// Gauss's.
    Normal,
    /// Pareto's, with shape 3: a long tail of late frames.
    Pareto,
    /// A quarter normal and three quarters Pareto.
    ParetoNormal,
    /// Equally likely values, in units of the spread.
    Table(Vec<f64>),
}

/// Which frames are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// A share of all frames.
    Independent {
        /// The share that is lost, from 0 to 1.
        share: f64,
        /// The correlation of successive frames' losses, from 0 up to but not including 1.
        #[serde(default)]
        correlation: f64,
    },
    /// Two states, good and bad, each with its own share.
    GilbertElliott {
        /// The probability that a frame finds the state turned from good to bad.
        to_bad: f64,
        /// The probability that a frame finds the state turned from bad to good.
        to_good: f64,
        /// The share lost in the bad state.
        #[serde(default = "one")]
        lost_in_bad: f64,
        /// The share lost in the good state.
        #[serde(default)]
        lost_in_good: f64,
    },
    /// Counts of frames: kept, lost, kept, lost, …, again and again.
    Pattern {
        /// The counts, an even number of them.
        runs: Vec<u32>,
    },
}

/// Which frames go without delay and so overtake those before them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// The share of the candidates that overtake.
    pub share: f64,
    /// The correlation of successive candidates, from 0 up to but not including 1.
    #[serde(default)]
    pub correlation: f64,
    /// After `gap - 1` frames that did not overtake every frame is a candidate, until one does.
    #[serde(default = "one_frame")]
    pub gap: u32,
}

/// How long a frame occupies the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Bits per second, framing included.
    pub bps: u64,
    /// What the medium adds to every frame; Ethernet's preamble, check sequence and gap are 24.
    #[serde(default = "ethernet_overhead")]
    pub overhead_bytes: u32,
    /// The least that a frame occupies with its overhead; Ethernet's shortest takes 84.
    #[serde(default = "ethernet_minimum")]
    pub minimum_bytes: u32,
}

/// Where frames wait for the rate. Without one its size follows from rate and delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// How many frames may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// How many bytes may wait, counted from the Ethernet headers on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Who has it.
    #[serde(default, skip_serializing_if = "Holder::is_link")]
    pub held: Holder,
    /// Which frames are dropped before the queue is full.
    #[serde(default)]
    pub discipline: Discipline,
}

/// Who has the queue of a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holder {
    /// The link: what finds no room there is lost.
    #[default]
    Link,
    /// The sender's own interface, which sends no faster than the rate; whoever uses a [`crate::Pipe`]
    /// sees to that. The link's queue has no bound of its own then.
    Sender,
}

impl Holder {
    fn is_link(&self) -> bool {
        *self == Self::Link
    }
}

/// Which frames a queue drops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Discipline {
    /// Those that find it full.
    #[default]
    DropTail,
    /// Controlled delay (RFC 8289).
    Codel {
        /// The waiting time that is accepted for good.
        #[serde(default = "codel_target")]
        target_ns: i64,
        /// For how long more than that is accepted.
        #[serde(default = "codel_interval")]
        interval_ns: i64,
    },
    /// Random early detection (Floyd and Jacobson 1993).
    Red {
        /// The mean length from which on frames are dropped.
        min_bytes: u64,
        /// The mean length from which on all are.
        max_bytes: u64,
        /// The share dropped as the mean comes near `max_bytes`.
        probability: f64,
        /// The weight of the length now in its mean.
        #[serde(default = "red_weight")]
        weight: f64,
    },
}

/// What changes over time. Times count from when the trace was set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Trace {
    /// Bits per second from each time on; 0 is an outage.
    Rate {
        /// `(at_ns, bps)`, the first at 0.
        points: Vec<(i64, u64)>,
        /// When the points begin again; never if left out.
        #[serde(default)]
        period_ns: Option<i64>,
    },
    /// Nanoseconds of delay from each time on.
    Delay {
        /// `(at_ns, delay_ns)`, the first at 0.
        points: Vec<(i64, i64)>,
        /// When the points begin again; never if left out.
        #[serde(default)]
        period_ns: Option<i64>,
    },
    /// Moments at which some bytes may leave, as in mahimahi's files.
    Opportunities {
        /// The moments, in order; several may be alike.
        at_ns: Vec<i64>,
        /// When they begin again.
        period_ns: i64,
        /// How many bytes may leave at each.
        #[serde(default = "opportunity_bytes")]
        bytes: u32,
    },
}

impl Rate {
    /// A rate of frames as Ethernet carries them.
    pub fn ethernet(bps: u64) -> Self {
        Rate { bps, overhead_bytes: ethernet_overhead(), minimum_bytes: ethernet_minimum() }
    }
}

/// Ethernet's preamble (8), check sequence (4) and gap between frames (12).
fn ethernet_overhead() -> u32 {
    24
}

/// Ethernet's shortest frame (64) with preamble and gap.
fn ethernet_minimum() -> u32 {
    84
}

/// RFC 8289, section 4.4.
fn codel_target() -> i64 {
    5_000_000
}

/// RFC 8289, section 4.3.
fn codel_interval() -> i64 {
    100_000_000
}

/// Floyd and Jacobson, section 9.
fn red_weight() -> f64 {
    0.002
}

/// A packet of 1500 bytes and the 4 bytes before it in mahimahi's tunnel.
fn opportunity_bytes() -> u32 {
    1504
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
