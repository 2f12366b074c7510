//! The random decisions about a frame. All are drawn when the frame arrives, even if it is lost or dropped,
//! so that the n-th frame draws the same values under any other conditions.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution as _, StandardNormal};

use crate::{Conditions, Distribution, Jitter, Loss, Reorder};

/// The random decisions about one frame.
#[derive(Clone, Copy)]
pub(crate) struct RandomDraw {
    pub(crate) lost: bool,
    pub(crate) copies: u8,
    pub(crate) corrupt: Option<u64>,
    pub(crate) reordered: bool,
    pub(crate) jitter_ns: i64,
}

impl RandomDraw {
    /// The decisions about a frame under no random condition.
    const PLAIN: RandomDraw =
        RandomDraw { lost: false, copies: 1, corrupt: None, reordered: false, jitter_ns: 0 };
}

/// The random conditions of one direction, each with its own stream.
pub(crate) struct RandomDraws {
    losses: Losses,
    duplicates: Chance,
    corruptions: Chance,
    overtaking: Chance,
    /// Frames since the last one that overtook.
    in_order: u32,
    jitters: Jitters,
    plain: bool,
}

impl RandomDraws {
    pub(crate) fn new(mut stream: impl FnMut() -> Stream, conditions: &Conditions) -> Self {
        let mut draws = RandomDraws {
            losses: Losses::new(stream()),
            duplicates: Chance::new(stream()),
            corruptions: Chance::new(stream()),
            overtaking: Chance::new(stream()),
            in_order: 0,
            jitters: Jitters::new(stream()),
            plain: true,
        };
        draws.set(conditions);
        draws
    }

    /// Change the conditions. A condition that is the same before and after keeps its state.
    pub(crate) fn change(&mut self, before: &Conditions, after: &Conditions) {
        if before.loss != after.loss {
            self.losses.restart_pattern();
        }
        self.set(after);
    }

    fn set(&mut self, conditions: &Conditions) {
        self.jitters.set(conditions.jitter.as_ref());
        self.plain = conditions.jitter.is_none()
            && conditions.loss.is_none()
            && conditions.reorder.is_none()
            && conditions.duplicate == 0.0
            && conditions.corrupt == 0.0;
    }

    /// Draw the decisions about the next frame, which arrives at `arrival_ns`.
    pub(crate) fn draw(&mut self, conditions: &Conditions, arrival_ns: i64) -> RandomDraw {
        if self.plain {
            return RandomDraw::PLAIN;
        }
        let twice = happens(&mut self.duplicates, conditions.duplicate);
        RandomDraw {
            lost: conditions.loss.as_ref().is_some_and(|loss| self.losses.next(loss)),
            copies: 1 + u8::from(twice),
            corrupt: self.corrupts(conditions.corrupt),
            reordered: conditions.reorder.as_ref().is_some_and(|reorder| self.overtakes(reorder)),
            jitter_ns: self.jitters.next_ns(arrival_ns),
        }
    }

    /// Draw the bit to flip, if any. A bit is drawn for intact frames too, so that another share finds the
    /// stream in the same state.
    fn corrupts(&mut self, share: f64) -> Option<u64> {
        let corrupt = happens(&mut self.corruptions, share);
        let bit = if share > 0.0 { self.corruptions.number() } else { 0 };
        corrupt.then_some(bit)
    }

    fn overtakes(&mut self, reorder: &Reorder) -> bool {
        let candidate = self.in_order >= reorder.gap - 1;
        let overtakes =
            candidate && self.overtaking.happens_again(reorder.share, reorder.correlation);
        self.in_order = if overtakes { 0 } else { self.in_order.saturating_add(1) };
        overtakes
    }
}

/// Draw an event, unless its condition is not configured: then the stream is not advanced.
fn happens(chance: &mut Chance, share: f64) -> bool {
    share > 0.0 && chance.happens(share)
}

/// The random number stream of one condition. The generator is fixed, so that a seed gives the same numbers
/// with every version of the library.
pub(crate) type Stream = Xoshiro256PlusPlus;

/// Return a source of streams, all different.
pub(crate) fn streams(seed: u64) -> impl FnMut() -> Stream {
    let mut root = Stream::seed_from_u64(seed);
    move || Stream::seed_from_u64(root.random())
}

/// Random events of one kind, and the outcome of the last one.
pub(crate) struct Chance {
    stream: Stream,
    last: Option<bool>,
}

impl Chance {
    pub(crate) fn new(stream: Stream) -> Self {
        Chance { stream, last: None }
    }

    /// Draw an event with this probability; return true if it happens.
    pub(crate) fn happens(&mut self, share: f64) -> bool {
        self.stream.random::<f64>() < share
    }

    /// Draw an event whose outcome is correlated with the last one: with probability `correlation` it repeats
    /// the last outcome. Both the share and the correlation are exact.
    fn happens_again(&mut self, share: f64, correlation: f64) -> bool {
        let repeated = self.last.filter(|_| correlation > 0.0 && self.happens(correlation));
        let happens = repeated.unwrap_or_else(|| self.happens(share));
        self.last = Some(happens);
        happens
    }

    /// Draw any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.stream.random()
    }
}

/// The state of the loss models.
pub(crate) struct Losses {
    chance: Chance,
    /// The state of the Gilbert-Elliott model.
    bad: bool,
    /// The current run of the pattern, and the number of its frames so far.
    run: usize,
    used: u32,
}

impl Losses {
    pub(crate) fn new(stream: Stream) -> Self {
        Losses { chance: Chance::new(stream), bad: false, run: 0, used: 0 }
    }

    /// Restart the pattern, because another one was configured.
    fn restart_pattern(&mut self) {
        self.run = 0;
        self.used = 0;
    }

    /// Return true if the next frame is lost.
    pub(crate) fn next(&mut self, loss: &Loss) -> bool {
        match loss {
            Loss::Independent { share, correlation } => {
                self.chance.happens_again(*share, *correlation)
            }
            Loss::GilbertElliott { to_bad, to_good, lost_in_bad, lost_in_good } => {
                let turns = self.chance.happens(if self.bad { *to_good } else { *to_bad });
                self.bad ^= turns;
                self.chance.happens(if self.bad { *lost_in_bad } else { *lost_in_good })
            }
            Loss::Pattern { runs } => self.next_of(runs),
        }
    }

    fn next_of(&mut self, runs: &[u32]) -> bool {
        while self.used >= runs[self.run] {
            self.run = (self.run + 1) % runs.len();
            self.used = 0;
        }
        self.used += 1;
        self.run % 2 == 1
    }
}

/// The cut of the Pareto distribution with shape 3 and least value 1, at the end of netem's table.
const CUT: f64 = 4.5;
/// The mean of the cut distribution: 3/2 less the integral of x⁻³ from the cut on.
const PARETO_MEAN: f64 = 1.5 - 0.5 / (CUT * CUT);
/// The variance of the cut distribution: its second moment is 3 less the integral of 2x⁻² from the cut on.
const PARETO_VARIANCE: f64 = 3.0 - 2.0 / CUT - PARETO_MEAN * PARETO_MEAN;
/// The standard deviation of a quarter of a score plus three quarters of its Pareto value, found by numerical
/// integration (`tests::scales`).
const MIX_DEVIATION: f64 = 0.967_684;

/// The jitter of one direction: the random part of the delay.
///
/// Each frame draws a normal score. Scores of successive frames follow a first-order autoregression that
/// keeps them standard normal, and the distribution's quantile function maps a score to a value. So the
/// distribution does not depend on the correlation.
pub(crate) struct Jitters {
    stream: Stream,
    /// The last frame's score, and its arrival.
    last: Option<(f64, i64)>,
    configured: Option<ConfiguredJitter>,
}

/// The configured jitter, with values that are the same for every frame precomputed.
struct ConfiguredJitter {
    jitter: Jitter,
    /// The weights of the last score and of the newly drawn one, where they do not depend on time.
    weights: (f64, f64),
    /// The inverse of the standard deviation of [`pareto`].
    pareto: f64,
}

impl Jitters {
    pub(crate) fn new(stream: Stream) -> Self {
        Jitters { stream, last: None, configured: None }
    }

    /// Change the jitter; the last score stays.
    pub(crate) fn set(&mut self, jitter: Option<&Jitter>) {
        self.configured = jitter.filter(|jitter| jitter.spread_ns > 0).map(ConfiguredJitter::new);
    }

    /// Draw the jitter of the frame that arrives at `arrival_ns`, in nanoseconds; it may be negative.
    pub(crate) fn next_ns(&mut self, arrival_ns: i64) -> i64 {
        let Some(configured) = &self.configured else { return 0 };
        let drawn: f64 = StandardNormal.sample(&mut self.stream);
        let score = match self.last {
            Some((last, at_ns)) => {
                let (kept, new) = configured.weights(arrival_ns - at_ns);
                kept * last + new * drawn
            }
            None => drawn,
        };
        self.last = Some((score, arrival_ns));
        (configured.jitter.spread_ns as f64 * configured.value(score)).round() as i64
    }
}

impl ConfiguredJitter {
    fn new(jitter: &Jitter) -> Self {
        // Scores of this correlation have the configured rank correlation (Pearson 1907).
        let kept = 2.0 * libm::sin(PI * jitter.correlation / 6.0);
        ConfiguredJitter {
            jitter: jitter.clone(),
            weights: (kept, libm::sqrt(1.0 - kept * kept)),
            pareto: 1.0 / libm::sqrt(PARETO_VARIANCE),
        }
    }

    /// Return the weights of the last score and of the newly drawn one for frames that arrive this far apart: an
    /// Ornstein-Uhlenbeck process, if the correlation is one of time.
    fn weights(&self, apart_ns: i64) -> (f64, f64) {
        let Some(half_life_ns) = self.jitter.half_life_ns else { return self.weights };
        let kept = libm::exp2(-apart_ns.max(0) as f64 / half_life_ns as f64);
        (kept, libm::sqrt(1.0 - kept * kept))
    }

    /// Return the value for a score, in spreads.
    fn value(&self, score: f64) -> f64 {
        match &self.jitter.distribution {
            Distribution::Uniform => libm::erf(score * FRAC_1_SQRT_2),
            Distribution::Normal => score,
            Distribution::Pareto => pareto(score) * self.pareto,
            Distribution::ParetoNormal => mix(score, self.pareto) / MIX_DEVIATION,
            Distribution::Table(table) => {
                let at = (1.0 - above(score)) * table.len() as f64;
                table[(at as usize).min(table.len() - 1)]
            }
        }
    }
}

/// Return the quantile of the jitter's distribution at `share` (more than 0, less than 1), in spreads.
pub fn jitter_quantile(jitter: &Jitter, share: f64) -> f64 {
    ConfiguredJitter::new(jitter).value(score(share))
}

/// Return the quantile of the normal distribution at `share`, by bisection, within 1e-10.
fn score(share: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..38 {
        let middle = (low + high) / 2.0;
        if 1.0 - above(middle) < share { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Return the probability of a greater score.
fn above(score: f64) -> f64 {
    libm::erfc(score * FRAC_1_SQRT_2) / 2.0
}

/// Return the value of the cut Pareto distribution for a score, less its mean.
fn pareto(score: f64) -> f64 {
    (1.0 / libm::cbrt(above(score))).min(CUT) - PARETO_MEAN
}

fn mix(score: f64, pareto_scale: f64) -> f64 {
    0.25 * score + 0.75 * pareto(score) * pareto_scale
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compute the mean and standard deviation of a function of the score.
    fn moments(value: impl Fn(f64) -> f64) -> (f64, f64) {
        const STEP: f64 = 1e-4;
        let steps = (-120_000..=120_000).map(|i| f64::from(i) * STEP);
        let (mut mean, mut square) = (0.0, 0.0);
        for score in steps {
            let weight = libm::exp(-score * score / 2.0) / libm::sqrt(2.0 * PI) * STEP;
            mean += weight * value(score);
            square += weight * value(score) * value(score);
        }
        (mean, libm::sqrt(square - mean * mean))
    }

    #[test]
    fn scales() {
        let scale = 1.0 / libm::sqrt(PARETO_VARIANCE);
        let (mean, deviation) = moments(|score| pareto(score) * scale);
        assert!(mean.abs() < 1e-6 && (deviation - 1.0).abs() < 1e-6, "{mean} {deviation}");
        let (mean, deviation) = moments(|score| mix(score, scale));
        assert!(mean.abs() < 1e-6, "{mean}");
        assert!((deviation - MIX_DEVIATION).abs() < 1e-6, "{deviation}");
    }
}
