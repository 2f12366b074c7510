//! Jitter in netem's format: a table of equally likely values, in 8192ths of a unit.
//!
//! The values come from the distributions of `delaylab_link`, so both engines mean the same by a name.

use delaylab_link::{Jitter, jitter_quantile};

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
pub(super) fn of(jitter: &Jitter) -> JitterTable {
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
    use super::*;
    use delaylab_link::Distribution;

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
            let table = of(&Jitter { spread_ns, distribution, correlation: 0.0 });
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
