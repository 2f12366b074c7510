//! A sweep over conditions and loads in virtual time, as a reviewed table: `sweep.txt`. After an intended
//! change `UPDATE_SWEEP=1 cargo test -p delaylab-link --test sweep` rewrites it.

mod common;

use std::fmt::Write as _;

use common::{Kept, MS, S, run};
use delaylab_link::Reason;
use serde_json::{Value, json};

const SEEDS: u64 = 3;

/// Return conditions by name.
fn conditions() -> Vec<(&'static str, Value)> {
    let rate = json!({"bps": 10_000_000});
    let codel = json!({"packets": 1000, "discipline": {"kind": "codel"}});
    let red = json!({"packets": 1000, "discipline":
        {"kind": "red", "min_bytes": 15_000, "max_bytes": 45_000, "probability": 0.1}});
    let jitter = |shape: &str| json!({"spread_ns": 2 * MS, "distribution": shape});
    let outage = json!({"kind": "rate", "points": [[0, 10_000_000], [S, 0]], "period_ns": 2 * S});
    let every_ms = json!({"kind": "opportunities", "at_ns": [MS], "period_ns": MS});
    vec![
        ("nothing", json!({})),
        ("delay", json!({"delay_ns": 20 * MS})),
        ("uniform", json!({"delay_ns": 20 * MS, "jitter": jitter("uniform")})),
        ("normal", json!({"delay_ns": 20 * MS, "jitter": jitter("normal")})),
        ("pareto", json!({"delay_ns": 20 * MS, "jitter": jitter("pareto")})),
        ("paretonormal", json!({"delay_ns": 20 * MS, "jitter": jitter("paretonormal")})),
        ("loss", json!({"loss": {"model": "independent", "share": 0.01}})),
        ("bursts", json!({"loss": {"model": "gilbert-elliott", "to_bad": 0.01, "to_good": 0.2}})),
        ("twice", json!({"duplicate": 0.01})),
        ("wrong", json!({"corrupt": 0.01})),
        ("reorder", json!({"delay_ns": 20 * MS, "reorder": {"share": 0.1}})),
        ("rate", json!({"rate": rate})),
        ("rate+delay", json!({"delay_ns": 20 * MS, "rate": rate})),
        ("long queue", json!({"rate": rate, "queue": {"packets": 1000}})),
        ("codel", json!({"rate": rate, "queue": codel})),
        ("red", json!({"rate": rate, "queue": red})),
        ("outages", json!({"trace": outage})),
        ("opportunities", json!({"trace": every_ms})),
    ]
}

/// Return loads by name, with their frames over ten seconds: 5 Mbit/s, 20 Mbit/s, and bursts.
fn loads() -> Vec<(&'static str, Vec<(i64, u32)>)> {
    let full = |interval: i64| (0..10 * S / interval).map(move |i| (i * interval, 1514)).collect();
    let bursts = (0..1000).flat_map(|i| (0..20).map(move |k| (i * 10 * MS + k, 60))).collect();
    vec![("half", full(2_460_800)), ("double", full(615_200)), ("bursts", bursts)]
}

/// Format one row: counts, delays in ms, and the rate with Ethernet's framing in Mbit/s.
fn row(kept: &Kept, arrivals: &[(i64, u32)]) -> String {
    let mut delays = kept.delays(arrivals);
    delays.sort_unstable();
    let ms = |ns: i64| ns as f64 / MS as f64;
    let at = |share: f64| ms(delays[((delays.len() - 1) as f64 * share) as usize]);
    let count = |of: &dyn Fn(&delaylab_link::Delivery<u64>) -> bool| {
        kept.delivered.iter().filter(|delivery| of(delivery)).count()
    };
    let bits: u64 = kept
        .delivered
        .iter()
        .map(|d| u64::from(arrivals[d.frame as usize].1 + 24) * 8 * u64::from(d.copies))
        .sum();
    let first = kept.delivered.iter().map(|d| d.due_ns).min().unwrap_or(0);
    let last = kept.delivered.iter().map(|d| d.due_ns).max().unwrap_or(0);
    format!(
        "{:>6} {:>5} {:>6} {:>5} {:>5} {:>5} {:>5} {:>9.3} {:>9.3} {:>9.3} {:>9.3} {:>7.3}",
        kept.delivered.len(),
        kept.dropped_for(Reason::Loss),
        kept.dropped_for(Reason::Queue),
        kept.dropped_for(Reason::Early),
        count(&|delivery| delivery.copies == 2),
        count(&|delivery| delivery.corrupt.is_some()),
        count(&|delivery| delivery.reordered),
        at(0.0),
        at(0.5),
        at(0.99),
        at(1.0),
        bits as f64 / (last - first) as f64 * 1000.0,
    )
}

fn table() -> String {
    let mut table = format!(
        "{:<14} {:<7} {:>4} {:>6} {:>5} {:>6} {:>5} {:>5} {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>7}\n",
        "conditions",
        "load",
        "seed",
        "passed",
        "lost",
        "queue",
        "early",
        "twice",
        "wrong",
        "order",
        "min ms",
        "median",
        "p99",
        "max",
        "Mbit/s",
    );
    for (name, asked) in conditions() {
        for (load, arrivals) in loads() {
            // Rows without random decisions are the same for every seed.
            let rows: Vec<_> =
                (1..=SEEDS).map(|seed| row(&run(&asked, seed, &arrivals), &arrivals)).collect();
            let all_alike = rows.iter().all(|row| *row == rows[0]);
            for (seed, row) in (1..).zip(&rows).take(if all_alike { 1 } else { rows.len() }) {
                let seed = if all_alike { "any".into() } else { format!("{seed}") };
                writeln!(table, "{name:<14} {load:<7} {seed:>4} {row}").unwrap();
            }
        }
    }
    table
}

#[test]
fn the_table_is_as_reviewed() {
    let now = table();
    if std::env::var_os("UPDATE_SWEEP").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sweep.txt");
        std::fs::write(path, &now).unwrap();
    }
    for (now, reviewed) in now.lines().zip(include_str!("sweep.txt").lines()) {
        assert_eq!(now, reviewed);
    }
    assert_eq!(now.lines().count(), include_str!("sweep.txt").lines().count());
}
