//! The random part of the delay.
//!
//! Each frame draws a normal score. Scores of successive frames follow a first-order autoregression that
//! keeps them standard normal, and the distribution's quantile function maps a score to a value. So the
//! distribution does not depend on the correlation.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use rand_distr::{Distribution as _, StandardNormal};

use crate::chance::Stream;
use crate::{Distribution, Jitter};

/// The cut of the Pareto distribution with shape 3 and least value 1, at the end of netem's table.
const CUT: f64 = 4.5;
/// The mean of the cut distribution: 3/2 less the integral of x⁻³ from the cut on.
const PARETO_MEAN: f64 = 1.5 - 0.5 / (CUT * CUT);
/// The variance of the cut distribution: its second moment is 3 less the integral of 2x⁻² from the cut on.
const PARETO_VARIANCE: f64 = 3.0 - 2.0 / CUT - PARETO_MEAN * PARETO_MEAN;
/// The standard deviation of a quarter of a score plus three quarters of its Pareto value, found by numerical
/// integration (`tests::scales`).
const MIX_DEVIATION: f64 = 0.967_684;

/// The jitter of one direction.
pub(crate) struct Jitters {
    stream: Stream,
    score: Option<f64>,
    configured: Option<ConfiguredJitter>,
}

/// The configured jitter, with values that are the same for every frame precomputed.
struct ConfiguredJitter {
    jitter: Jitter,
    /// The weights of the last score and of the newly drawn one.
    kept: f64,
    new: f64,
    /// The inverse of the standard deviation of [`pareto`].
    pareto: f64,
}

impl Jitters {
    pub(crate) fn new(stream: Stream) -> Self {
        Jitters { stream, score: None, configured: None }
    }

    /// Change the jitter; the last score stays.
    pub(crate) fn set(&mut self, jitter: Option<&Jitter>) {
        self.configured = jitter.filter(|jitter| jitter.spread_ns > 0).map(ConfiguredJitter::new);
    }

    /// Draw the jitter of the next frame, in nanoseconds; it may be negative.
    pub(crate) fn next_ns(&mut self) -> i64 {
        let Some(configured) = &self.configured else { return 0 };
        let drawn: f64 = StandardNormal.sample(&mut self.stream);
        let score = match self.score {
            Some(last) => configured.kept * last + configured.new * drawn,
            None => drawn,
        };
        self.score = Some(score);
        (configured.jitter.spread_ns as f64 * configured.value(score)).round() as i64
    }
}

impl ConfiguredJitter {
    fn new(jitter: &Jitter) -> Self {
        // Scores of this correlation have the configured rank correlation (Pearson 1907).
        let kept = 2.0 * libm::sin(PI * jitter.correlation / 6.0);
        ConfiguredJitter {
            jitter: jitter.clone(),
            kept,
            new: libm::sqrt(1.0 - kept * kept),
            pareto: 1.0 / libm::sqrt(PARETO_VARIANCE),
        }
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
