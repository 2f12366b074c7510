//! Properties that hold under any conditions and any arrivals.

mod common;

use std::collections::HashSet;

use common::{Frame, Kept, MS, S, conditions, drain, merge, offer_all, run};
use delaylab_link::Pipe;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Generate one of a few values of a condition, or none.
fn one_of(values: Vec<Value>) -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), prop::sample::select(values)]
}

fn jitter() -> impl Strategy<Value = Value> {
    let shapes = vec![
        json!("uniform"),
        json!("normal"),
        json!("pareto"),
        json!("paretonormal"),
        json!({"table": [-1.0, 0.0, 3.0]}),
    ];
    let shape = prop::sample::select(shapes);
    let jitter = (0..5 * MS, shape, 0.0..0.99).prop_map(
        |(spread, shape, rho)| json!({"spread_ns": spread, "distribution": shape, "correlation": rho}),
    );
    prop_oneof![Just(Value::Null), jitter]
}

fn rate() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (1_000_000u64..2_000_000_000).prop_map(|bps| json!({"bps": bps})),
        (1_000_000u64..2_000_000_000)
            .prop_map(|bps| json!({"bps": bps, "overhead_bytes": 0, "minimum_bytes": 0})),
    ]
}

fn queue() -> impl Strategy<Value = Value> {
    one_of(vec![
        json!({"packets": 0}),
        json!({"packets": 3}),
        json!({"bytes": 20_000}),
        json!({"packets": 100, "discipline": {"kind": "codel", "target_ns": 100_000, "interval_ns": 1_000_000}}),
        json!({"discipline": {"kind": "red", "min_bytes": 3000, "max_bytes": 9000, "probability": 0.1, "weight": 0.1}}),
    ])
}

fn trace() -> impl Strategy<Value = Value> {
    one_of(vec![
        json!({"kind": "rate", "points": [[0, 1_000_000], [MS, 0], [3 * MS, 900_000_000]]}),
        json!({"kind": "rate", "points": [[0, 50_000_000], [MS, 0]], "period_ns": 4 * MS}),
        json!({"kind": "delay", "points": [[0, 9 * MS], [5 * MS, 0]], "period_ns": 7 * MS}),
        json!({"kind": "opportunities", "at_ns": [0, 0, MS, 5 * MS], "period_ns": 5 * MS}),
    ])
}

fn chances() -> impl Strategy<Value = Value> {
    let loss = one_of(vec![
        json!({"model": "independent", "share": 0.3, "correlation": 0.5}),
        json!({"model": "gilbert-elliott", "to_bad": 0.1, "to_good": 0.3, "lost_in_good": 0.01}),
        json!({"model": "pattern", "runs": [3, 1, 0, 2]}),
    ]);
    let reorder = one_of(vec![
        json!({"share": 0.3, "correlation": 0.2, "gap": 1}),
        json!({"share": 1.0, "gap": 4}),
    ]);
    (loss, reorder, 0.0..1.0, 0.0..1.0).prop_map(|(loss, reorder, twice, wrong)| {
        json!({"loss": loss, "reorder": reorder, "duplicate": twice, "corrupt": wrong})
    })
}

/// Generate any conditions as JSON; a null value is not configured.
fn any_conditions() -> impl Strategy<Value = Value> {
    (0..30 * MS, jitter(), rate(), queue(), trace(), chances()).prop_map(
        |(delay, jitter, rate, queue, trace, chances)| {
            let asked = json!({"delay_ns": delay, "jitter": jitter, "rate": rate,
                               "queue": queue, "trace": trace});
            merge(&merge(&json!({}), &asked), &chances)
        },
    )
}

/// Generate conditions at their bounds.
fn extremes() -> impl Strategy<Value = Value> {
    const HOUR: i64 = 3_600 * S;
    const MONTH: i64 = 31 * 24 * HOUR;
    let time = || prop::sample::select(vec![0, 1, HOUR]);
    let jitter = (time(), prop::sample::select(vec![json!("pareto"), json!({"table": [-1e3, 1e3]})]))
        .prop_map(|(spread, shape)| json!({"spread_ns": spread, "distribution": shape, "correlation": 0.999}));
    let rate = (
        prop::sample::select(vec![1, 1_000_000_000_000u64]),
        prop::sample::select(vec![0, 65_536]),
    )
        .prop_map(
            |(bps, bytes)| json!({"bps": bps, "overhead_bytes": bytes, "minimum_bytes": bytes}),
        );
    let traces = one_of(vec![
        json!({"kind": "rate", "points": [[0, 1_000_000_000_000u64], [3000 * S, 0]], "period_ns": MONTH}),
        json!({"kind": "rate", "points": [[0, 0], [MONTH, 1]]}),
        json!({"kind": "rate", "points": [[0, 1_000_000_000], [1, 0]], "period_ns": S}),
        json!({"kind": "delay", "points": [[0, HOUR]], "period_ns": 1}),
        json!({"kind": "opportunities", "at_ns": [0], "period_ns": S, "bytes": 1}),
        json!({"kind": "opportunities", "at_ns": [0, MONTH], "period_ns": MONTH, "bytes": u32::MAX}),
    ]);
    let queues = one_of(vec![
        json!({"packets": u64::MAX, "discipline": {"kind": "codel", "target_ns": 1, "interval_ns": 1}}),
        json!({"bytes": u64::MAX / 2, "discipline":
               {"kind": "red", "min_bytes": 0, "max_bytes": u64::MAX, "probability": 1.0, "weight": 1.0}}),
    ]);
    (time(), jitter, prop::option::of(rate), traces, queues).prop_map(
        |(delay, jitter, rate, trace, queue)| {
            let asked = json!({"delay_ns": delay, "jitter": jitter, "rate": rate, "trace": trace,
                               "queue": queue, "duplicate": 1.0, "corrupt": 1.0});
            merge(&json!({}), &asked)
        },
    )
}

/// Generate frames of any size, in bursts and with pauses.
fn any_arrivals() -> impl Strategy<Value = Vec<(i64, u32)>> {
    let gap = prop_oneof![Just(0), 0..50_000i64, 0..3 * MS];
    prop::collection::vec((gap, 14..1515u32), 1..150).prop_map(|frames| {
        let mut now = 0;
        let arrival = |(gap, bytes)| {
            now += gap;
            (now, bytes)
        };
        frames.into_iter().map(arrival).collect()
    })
}

/// Run the pipe and visit every time at which something happens, and many at which nothing does.
fn run_in_steps(asked: &Value, seed: u64, arrivals: &[(i64, u32)], step_ns: i64) -> Kept {
    let mut pipe = Pipe::new(conditions(asked), seed, 0);
    let mut kept = Kept::default();
    let mut now = 0;
    for (number, &(arrival_ns, bytes)) in (0..).zip(arrivals) {
        while now < arrival_ns {
            pipe.advance(now, &mut kept);
            let next = pipe.next_ns().unwrap_or(arrival_ns).max(now + 1);
            now = next.min(now + step_ns).min(arrival_ns);
        }
        pipe.advance(now, &mut kept);
        pipe.offer(arrival_ns, bytes, number, &mut kept);
    }
    drain(&mut pipe, &mut kept);
    kept
}

proptest! {
    #[test]
    fn every_frame_goes_somewhere_once(
        asked in any_conditions(), seed: u64, arrivals in any_arrivals()
    ) {
        let mut pipe: Pipe<Frame> = Pipe::new(conditions(&asked), seed, 0);
        let mut kept = Kept::default();
        offer_all(&mut pipe, 0, &arrivals, &mut kept);
        let (frames, bytes) = pipe.waiting();
        prop_assert_eq!(kept.delivered.len() + kept.dropped.len() + frames, arrivals.len());
        prop_assert_eq!(frames == 0, bytes == 0);

        drain(&mut pipe, &mut kept);
        prop_assert_eq!(pipe.waiting(), (0, 0));
        let delivered = kept.delivered.iter().map(|delivery| delivery.frame);
        let gone = kept.dropped.iter().map(|dropped| dropped.0);
        let all: HashSet<Frame> = delivered.chain(gone).collect();
        prop_assert_eq!(kept.delivered.len() + kept.dropped.len(), arrivals.len());
        prop_assert_eq!(all, (0..arrivals.len() as u64).collect());
    }

    #[test]
    fn no_frame_is_due_before_it_arrived(
        asked in any_conditions(), seed: u64, arrivals in any_arrivals()
    ) {
        let kept = run(&asked, seed, &arrivals);
        for delay in kept.delays(&arrivals) {
            prop_assert!(delay >= 0, "{delay}");
        }
        prop_assert!(kept.delivered.iter().all(|delivery| matches!(delivery.copies, 1 | 2)));
    }

    /// Check that nothing overflows, even at the time that a clock shows now.
    #[test]
    fn conditions_at_their_bounds_are_met(
        asked in extremes(), change in extremes(), seed: u64, arrivals in any_arrivals()
    ) {
        const NOW: i64 = 1_800_000_000 * S;
        let mut pipe: Pipe<Frame> = Pipe::new(conditions(&asked), seed, NOW);
        let mut kept = Kept::default();
        let count = arrivals.len().min(30) as u64;
        for (number, (at, _)) in (0..count).zip(&arrivals) {
            pipe.offer(NOW + at, 65_549, number, &mut kept);
            if number == count / 2 {
                pipe.advance(NOW + at, &mut kept);
                pipe.change(conditions(&change), NOW + at);
            }
        }
        drain(&mut pipe, &mut kept);
        prop_assert_eq!((kept.delivered.len() + kept.dropped.len()) as u64, count);
        prop_assert!(kept.delivered.iter().all(|delivery| delivery.due_ns >= NOW));
    }

    #[test]
    fn order_is_kept_unless_asked(
        asked in any_conditions(), seed: u64, arrivals in any_arrivals()
    ) {
        let kept = run(&asked, seed, &arrivals);
        let in_order: Vec<_> = kept.delivered.iter().filter(|d| !d.reordered).collect();
        for pair in in_order.windows(2) {
            prop_assert!(pair[0].frame < pair[1].frame);
            prop_assert!(pair[0].due_ns <= pair[1].due_ns);
        }
        if asked.get("reorder").is_none() {
            prop_assert_eq!(in_order.len(), kept.delivered.len());
        }
    }

    #[test]
    fn how_often_the_queue_is_looked_at_does_not_matter(
        asked in any_conditions(), seed: u64, arrivals in any_arrivals(), step in 1_000..2 * MS
    ) {
        let mut stepped = run_in_steps(&asked, seed, &arrivals, step);
        let mut jumped = run(&asked, seed, &arrivals);
        // The order of a random loss and a queue drop may differ between the two runs.
        stepped.dropped.sort_by_key(|dropped| dropped.0);
        jumped.dropped.sort_by_key(|dropped| dropped.0);
        prop_assert_eq!(stepped, jumped);
    }

    #[test]
    fn a_seed_says_it_all(asked in any_conditions(), seed: u64, arrivals in any_arrivals()) {
        prop_assert_eq!(run(&asked, seed, &arrivals), run(&asked, seed, &arrivals));
    }

    /// Check that over any window no more leaves than the rate carries in it plus the frame that the window
    /// cuts, with its copy. Jitter after the rate may crowd frames by as much as it varies.
    #[test]
    fn the_rate_is_never_exceeded(
        seed: u64, arrivals in any_arrivals(), chances in chances(), queue in queue(),
        bps in 1_000_000u64..3_000_000_000, spread in prop_oneof![Just(0), 0..2 * MS],
    ) {
        let delay = 5 * MS;
        let asked = json!({"delay_ns": delay, "rate": {"bps": bps}, "queue": queue,
                           "jitter": {"spread_ns": spread}});
        let asked = merge(&merge(&json!({}), &asked), &chances);
        let kept = run(&asked, seed, &arrivals);
        let reordering = asked.get("reorder").is_some();
        let varies = if reordering { delay + spread } else { 2 * spread };
        let bits = |frame: Frame, copies: u8| {
            i128::from((arrivals[frame as usize].1 + 24).max(84)) * 8 * i128::from(copies)
        };
        let mut sent: Vec<_> =
            kept.delivered.iter().map(|d| (d.due_ns, d.frame, bits(d.frame, d.copies))).collect();
        sent.sort_unstable();
        for from in 0..sent.len() {
            let (mut total, mut first) = (0, (Frame::MAX, 0));
            for &(due, frame, bits) in &sent[from..] {
                total += bits;
                first = first.min((frame, bits));
                let window = i128::from(due - sent[from].0 + varies + 1);
                // The first frame may have begun to leave before the window.
                prop_assert!((total - first.1) * 1_000_000_000 <= window * i128::from(bps));
            }
        }
    }
}
