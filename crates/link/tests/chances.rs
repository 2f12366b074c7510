//! Shares and distributions are as configured in the long run. Bounds are five standard deviations: a correct
//! pipe fails one such test in two million seeds.

mod common;

use common::{Frame, Kept, MS, conditions, drain, evenly, moments, offer_all, run};
use delaylab_link::{Pipe, Reason};
use serde_json::{Value, json};

const COUNT: usize = 200_000;
/// The distance between frames, so large that jitter never reorders them.
const APART: i64 = 100 * MS;
const DELAY: i64 = 50 * MS;

fn run_apart(asked: &Value) -> Kept {
    run(asked, 11, &evenly(COUNT, APART, 1000))
}

/// Assert that `found` of `count` events fit a share; successive events may be correlated.
#[track_caller]
fn assert_share(found: usize, count: usize, share: f64, correlation: f64) {
    let (found, count) = (found as f64, count as f64);
    let grown = (1.0 + correlation) / (1.0 - correlation);
    let bound = 5.0 * (count * share * (1.0 - share) * grown).sqrt();
    assert!((found - count * share).abs() <= bound, "{found} of {count}, not {share}");
}

/// Return 1.0 for each of these frames and 0.0 for every other.
fn indicators(frames: impl Iterator<Item = Frame>) -> Vec<f64> {
    let mut indicators = vec![0.0; COUNT];
    frames.for_each(|frame| indicators[frame as usize] = 1.0);
    indicators
}

/// Return the correlation of two lists of values, pair by pair.
fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let ((mean_x, sd_x), (mean_y, sd_y)) = (moments(x.iter().copied()), moments(y.iter().copied()));
    let products = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y));
    products.sum::<f64>() / x.len() as f64 / sd_x / sd_y
}

fn lost(kept: &Kept) -> Vec<f64> {
    indicators(kept.dropped.iter().map(|dropped| dropped.0))
}

#[test]
fn independent_loss_has_its_share() {
    for share in [0.0, 0.000_1, 0.01, 0.5, 1.0] {
        let kept = run_apart(&json!({"loss": {"model": "independent", "share": share}}));
        assert_share(kept.dropped_for(Reason::Loss), COUNT, share, 0.0);
    }
}

#[test]
fn correlated_loss_has_its_share_and_its_correlation() {
    for (share, rho) in [(0.01, 0.25), (0.1, 0.9)] {
        let loss = json!({"model": "independent", "share": share, "correlation": rho});
        let kept = run_apart(&json!({"loss": loss}));
        assert_share(kept.dropped.len(), COUNT, share, rho);
        let lost = lost(&kept);
        let found = correlation(&lost[1..], &lost[..COUNT - 1]);
        assert!((found - rho).abs() < 0.05, "{found}, not {rho}");
    }
}

#[test]
fn gilbert_and_elliotts_states_last_as_long_as_asked() {
    let (to_bad, to_good) = (0.01, 0.2);
    let loss = json!({"model": "gilbert-elliott", "to_bad": to_bad, "to_good": to_good});
    let kept = run_apart(&json!({"loss": loss}));
    // The chain's memory, 1 - to_bad - to_good, is the correlation of successive losses.
    let share = to_bad / (to_bad + to_good);
    assert_share(kept.dropped.len(), COUNT, share, 1.0 - to_bad - to_good);

    let lost = lost(&kept);
    let bursts = lost.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert_share(bursts, COUNT, share * to_good, 0.0);
    let mean_burst = kept.dropped.len() as f64 / bursts as f64;
    assert!((mean_burst * to_good - 1.0).abs() < 0.1, "{mean_burst}");
}

#[test]
fn gilbert_and_elliotts_states_have_their_own_shares() {
    let loss = json!({"model": "gilbert-elliott", "to_bad": 0.1, "to_good": 0.1,
                      "lost_in_bad": 0.8, "lost_in_good": 0.1});
    let kept = run_apart(&json!({"loss": loss}));
    assert_share(kept.dropped.len(), COUNT, 0.45, 0.8);
}

#[test]
fn a_pattern_is_followed_to_the_frame() {
    let kept = run_apart(&json!({"loss": {"model": "pattern", "runs": [2, 1, 0, 1, 3, 0]}}));
    let expected = (0..COUNT as u64).filter(|frame| matches!(frame % 7, 2 | 3));
    assert!(kept.dropped.iter().map(|dropped| dropped.0).eq(expected));
}

#[test]
fn frames_are_duplicated_and_corrupted_by_their_shares() {
    let kept = run_apart(&json!({"duplicate": 0.03, "corrupt": 0.2}));
    let twice = kept.delivered.iter().filter(|delivery| delivery.copies == 2);
    let wrong = kept.delivered.iter().filter(|delivery| delivery.corrupt.is_some());
    assert_share(twice.clone().count(), COUNT, 0.03, 0.0);
    assert_share(wrong.clone().count(), COUNT, 0.2, 0.0);

    // Two conditions draw from two different streams.
    let (twice, wrong) = (indicators(twice.map(|d| d.frame)), indicators(wrong.map(|d| d.frame)));
    let found = correlation(&twice, &wrong);
    assert!(found.abs() < 5.0 / (COUNT as f64).sqrt(), "{found}");
}

#[test]
fn any_bit_is_corrupted() {
    let kept = run_apart(&json!({"corrupt": 1.0}));
    let bits = 8 * 50;
    let mut hits = vec![0; bits as usize];
    for delivery in &kept.delivered {
        hits[(delivery.corrupt.unwrap() % bits) as usize] += 1;
    }
    hits.into_iter().for_each(|hits| assert_share(hits, COUNT, 1.0 / bits as f64, 0.0));
}

#[test]
fn reordered_frames_go_without_delay() {
    let arrivals = evenly(COUNT, MS, 1000);
    let kept = run(&json!({"delay_ns": DELAY, "reorder": {"share": 0.25}}), 11, &arrivals);
    let reordered = kept.delivered.iter().filter(|delivery| delivery.reordered).count();
    assert_share(reordered, COUNT, 0.25, 0.0);
    for (delivery, delay) in kept.delivered.iter().zip(kept.delays(&arrivals)) {
        assert_eq!(delay, if delivery.reordered { 0 } else { DELAY });
    }
}

#[test]
fn frames_leave_earlier_by_what_the_network_beyond_takes() {
    const BEYOND: i64 = DELAY - MS / 2;
    let jitter = json!({"spread_ns": MS, "distribution": "uniform"});
    let asked = json!({"delay_ns": DELAY, "jitter": jitter, "reorder": {"share": 0.1}});
    let arrivals = evenly(COUNT, APART, 1000);
    let alone = run(&asked, 11, &arrivals);
    let mut pipe = Pipe::new(conditions(&asked), 11, 0).with_network_beyond(BEYOND);
    let mut kept = Kept::default();
    offer_all(&mut pipe, 0, &arrivals, &mut kept);
    drain(&mut pipe, &mut kept);
    let all = alone.delivered.iter().zip(alone.delays(&arrivals));
    for ((whole, delay), (rest, held)) in all.zip(kept.delivered.iter().zip(kept.delays(&arrivals)))
    {
        assert_eq!(whole.reordered, rest.reordered);
        assert_eq!(held, (delay - BEYOND).max(0));
        assert_eq!(rest.short, !rest.reordered && delay < BEYOND);
    }
    assert!(kept.delivered.iter().any(|delivery| delivery.short));
}

#[test]
fn only_every_frame_after_a_gap_is_reordered() {
    let asked = json!({"delay_ns": DELAY, "reorder": {"share": 1.0, "gap": 5}});
    let kept = run(&asked, 11, &evenly(100, MS, 1000));
    let reordered: Vec<_> =
        kept.delivered.iter().filter(|d| d.reordered).map(|d| d.frame).collect();
    assert_eq!(reordered, (4..100).step_by(5).collect::<Vec<_>>());
}

/// Measure the jitter of each frame, in spreads of 1 ms.
fn jitter(distribution: &Value, correlation: f64) -> Vec<f64> {
    let jitter = json!({"spread_ns": MS, "distribution": distribution, "correlation": correlation});
    let kept = run_apart(&json!({"delay_ns": DELAY, "jitter": jitter}));
    let arrivals = evenly(COUNT, APART, 1000);
    kept.delays(&arrivals).into_iter().map(|delay| (delay - DELAY) as f64 / MS as f64).collect()
}

/// Return the rank of each value, from 0 to the count less 1.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    order.into_iter().enumerate().for_each(|(rank, at)| ranks[at] = rank as f64);
    ranks
}

#[test]
fn jitter_has_its_mean_spread_and_correlation() {
    let deviations = [
        (json!("uniform"), 1.0 / 3f64.sqrt()),
        (json!("normal"), 1.0),
        (json!("pareto"), 1.0),
        (json!("paretonormal"), 1.0),
    ];
    for (distribution, deviation) in deviations {
        for rho in [0.0, 0.5, 0.9] {
            let values = jitter(&distribution, rho);
            let (mean, found) = moments(values.iter().copied());
            let bound = 5.0 * (1.0 / COUNT as f64 * (1.0 + rho) / (1.0 - rho)).sqrt();
            assert!(mean.abs() < bound, "{distribution} {rho}: {mean}");
            // The error of a standard deviation grows with the fourth moment, which is 11 for Pareto.
            assert!((found / deviation - 1.0).abs() < 2.0 * bound, "{distribution} {rho}: {found}");
            let ranks = ranks(&values);
            let found = correlation(&ranks[1..], &ranks[..COUNT - 1]);
            assert!((found - rho).abs() < 5.0 / (COUNT as f64).sqrt(), "{distribution}: {found}");
        }
    }
}

#[test]
fn jitter_has_its_shape() {
    let below = |values: &[f64], limit: f64| values.iter().filter(|x| **x < limit).count();
    for rho in [0.0, 0.5] {
        let uniform = jitter(&json!("uniform"), rho);
        assert!(uniform.iter().all(|x| x.abs() <= 1.0));
        assert_share(below(&uniform, -0.5), COUNT, 0.25, rho);
        let normal = jitter(&json!("normal"), rho);
        assert_share(below(&normal, -1.0), COUNT, 0.158_655, rho);
        assert_share(below(&normal, 2.0), COUNT, 0.977_250, rho);
        // The Pareto distribution has the median ∛2, the cut 4.5 and the least value 1.
        let pareto = jitter(&json!("pareto"), rho);
        let scaled = |x: f64| (x - 1.475_309) / 0.615_646;
        assert_eq!(below(&pareto, scaled(1.0) - 1e-5), 0);
        assert_share(below(&pareto, scaled(2f64.cbrt())), COUNT, 0.5, rho);
        assert_share(below(&pareto, scaled(4.5) - 1e-5), COUNT, 1.0 - 4.5f64.powi(-3), rho);
        assert_eq!(below(&pareto, scaled(4.5) + 1e-5), COUNT);
    }
}

#[test]
fn a_tables_values_are_equally_likely() {
    let table = [-1.0, 0.25, 0.5, 4.0];
    let values = jitter(&json!({"table": table}), 0.3);
    for value in table {
        assert_share(values.iter().filter(|x| **x == value).count(), COUNT, 0.25, 0.3);
    }
}

/// The correlation of two frames is that of their distance in time, at any rate of frames in between.
#[test]
fn a_half_life_is_of_time_and_not_of_frames() {
    let half_life = 50 * MS;
    for (apart, step) in [(10 * MS, 5), (25 * MS, 2), (50 * MS, 1)] {
        let asked = json!({"delay_ns": DELAY, "jitter":
            {"spread_ns": MS, "distribution": "normal", "half_life_ns": half_life}});
        let arrivals = evenly(COUNT, apart, 1000);
        let delays = run(&asked, 11, &arrivals).delays(&arrivals);
        let delays: Vec<f64> = delays.iter().map(|&delay| delay as f64).collect();
        let (mean, deviation) = moments(delays.iter().copied());
        assert!((mean / DELAY as f64 - 1.0).abs() < 0.01, "{mean}");
        assert!((deviation / MS as f64 - 1.0).abs() < 0.05, "{deviation}");
        let pairs = COUNT - step;
        let found = correlation(&delays[..pairs], &delays[step..]);
        // Frames within some half-lives say the same: three of these are one observation.
        let independent = COUNT as f64 * apart as f64 / half_life as f64 / 3.0;
        assert!((found - 0.5).abs() < 5.0 / independent.sqrt(), "{found} at {apart} ns");
    }
}
