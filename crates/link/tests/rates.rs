//! Rates, queues and traces, to the nanosecond.

mod common;

use common::{Kept, MS, S, conditions, evenly, merge, run};
use delaylab_link::{Delivery, Limit, Reason};
use proptest::prelude::*;
use serde_json::{Value, json};

fn due(kept: &Kept) -> Vec<i64> {
    kept.delivered.iter().map(|delivery| delivery.due_ns).collect()
}

#[test]
fn a_frame_takes_its_bits_and_its_framing() {
    let cases = [
        // bytes, framing configured beside 10 Mbit/s, nanoseconds
        (1514, json!({}), 1_230_400),
        (60, json!({}), 67_200),
        (14, json!({}), 67_200),
        (61, json!({}), 68_000),
        (1514, json!({"overhead_bytes": 0, "minimum_bytes": 0}), 1_211_200),
        (60, json!({"overhead_bytes": 48, "minimum_bytes": 53}), 86_400),
    ];
    for (bytes, framing, ns) in cases {
        let link = json!({"delay_ns": 5 * MS, "rate": {"bps": 10_000_000}});
        let kept = run(&merge(&link, &json!({"rate": framing})), 1, &[(100, bytes)]);
        assert_eq!(due(&kept), [100 + ns + 5 * MS], "{bytes} {framing}");
    }
}

#[test]
fn a_delivery_says_how_long_the_queue_the_rate_and_the_delay_held_the_frame() {
    // 1514 bytes take 12.304 ms at 1 Mbit/s, longer than a frame is delivered ahead; 60 bytes take 0.672 ms.
    let link = json!({"delay_ns": 5 * MS, "rate": {"bps": 1_000_000}, "queue": {"packets": 10}});
    let kept = run(&link, 1, &[(100, 1514), (200, 60), (300, 60)]);
    let times = |delivery: &Delivery<u64>| (delivery.began_ns, delivery.left_ns, delivery.due_ns);
    let (first, second) = (100 + 12_304_000, 100 + 12_304_000 + 672_000);
    let third = second + 672_000;
    assert_eq!(
        kept.delivered.iter().map(times).collect::<Vec<_>>(),
        [
            (100, first, first + 5 * MS),
            (first, second, second + 5 * MS),
            (second, third, third + 5 * MS)
        ]
    );
    let kept = run(&json!({"delay_ns": 5 * MS}), 1, &[(100, 1514)]);
    assert_eq!(times(&kept.delivered[0]), (100, 100, 100 + 5 * MS));
}

#[test]
fn a_rate_does_not_drift() {
    // 12 304 bits at 3 Mbit/s end at a third of a nanosecond.
    let kept = run(
        &json!({"rate": {"bps": 3_000_000}, "queue": {"packets": 100_000}}),
        1,
        &evenly(90_000, 0, 1514),
    );
    assert_eq!(due(&kept)[..3], [4_101_333, 8_202_666, 12_304_000]);
    assert_eq!(due(&kept)[89_999], 30_000 * 12_304_000);
}

#[test]
fn the_rate_over_ten_seconds_is_what_was_asked() {
    let full = (1514, 1538);
    let short = (60, 84);
    for (bps, (bytes, framed)) in [
        (1_000_000u64, full),
        (1_000_000, short),
        (100_000_000, full),
        (100_000_000, short),
        (2_500_000_000, full),
    ] {
        let interval = (framed * 8 * 1_000_000_000 / bps) as i64;
        let asked = json!({"rate": {"bps": bps}, "queue": {"packets": 20}});
        let count = (10 * S / interval) as usize;
        let kept = run(&asked, 1, &evenly(2 * count, interval / 2, bytes));
        let within = due(&kept).iter().filter(|due| **due <= 10 * S).count() as u64;
        let reached = (within * framed * 8 / 10) as f64;
        assert!((reached / bps as f64 - 1.0).abs() < 0.002, "{bytes} {bps}: {reached}");
    }
}

#[test]
fn an_idle_link_saves_nothing_up() {
    let asked = json!({"rate": {"bps": 12_304_000}});
    let kept = run(&asked, 1, &[(0, 1514), (9 * MS, 1514), (9 * MS, 1514), (9 * MS, 1514)]);
    assert_eq!(due(&kept), [MS, 10 * MS, 11 * MS, 12 * MS]);
}

#[test]
fn a_full_queue_drops_what_comes_last() {
    for (queue, waiting) in [
        (json!({"packets": 5}), 5),
        (json!({"packets": 0}), 0),
        (json!({"bytes": 5 * 1514}), 5),
        (json!({"bytes": 5 * 1514 - 1}), 4),
        (json!({"bytes": 0}), 0),
    ] {
        let asked = json!({"rate": {"bps": 1_000_000}, "queue": queue});
        let kept = run(&asked, 1, &evenly(20, 1, 1514));
        // One more frame is leaving.
        assert_eq!(kept.delivered.len(), waiting + 1, "{queue}");
        assert_eq!(kept.dropped[0], (waiting as u64 + 1, Reason::Queue));
        assert_eq!(kept.dropped_for(Reason::Queue), 19 - waiting);
    }
}

#[test]
fn a_queue_without_a_size_fits_rate_and_delay() {
    let cases = [
        (json!({"delay_ns": 20 * MS}), None),
        (json!({"rate": {"bps": 1_000_000}}), Some(Limit::Bytes(15_140))),
        (json!({"rate": {"bps": 100_000_000}}), Some(Limit::Bytes(125_000))),
        (json!({"rate": {"bps": 100_000_000}, "delay_ns": 20 * MS}), Some(Limit::Bytes(500_000))),
        (
            json!({"rate": {"bps": 100_000_000}, "queue": {"discipline": {"kind": "codel"}}}),
            Some(Limit::Bytes(125_000)),
        ),
        (
            json!({"rate": {"bps": 100_000_000}, "trace":
                   {"kind": "delay", "points": [[0, 0], [5, 40 * MS], [9, 1]]}}),
            Some(Limit::Bytes(1_000_000)),
        ),
        (
            json!({"trace": {"kind": "rate", "points": [[0, 300_000_000], [S, 0]], "period_ns": 3 * S}}),
            Some(Limit::Bytes(125_000)),
        ),
        (
            json!({"trace": {"kind": "opportunities", "at_ns": [0, 1, 2], "period_ns": MS}}),
            Some(Limit::Bytes(45_120)),
        ),
        (json!({"rate": {"bps": 1000}, "queue": {"packets": 3}}), Some(Limit::Packets(3))),
        (json!({"rate": {"bps": 1000}, "queue": {"held": "sender"}}), Some(Limit::Bytes(u64::MAX))),
    ];
    for (asked, limit) in cases {
        assert_eq!(conditions(&asked).queue_limit(), limit, "{asked}");
    }
}

#[test]
fn a_duplicate_takes_its_own_time() {
    let asked = json!({"rate": {"bps": 12_304_000}, "duplicate": 1.0});
    assert_eq!(due(&run(&asked, 1, &evenly(3, 0, 1514))), [2 * MS, 4 * MS, 6 * MS]);
}

#[test]
fn a_lost_frame_takes_no_time() {
    let asked = json!({"rate": {"bps": 12_304_000},
                       "loss": {"model": "pattern", "runs": [1, 1]}});
    assert_eq!(due(&run(&asked, 1, &evenly(4, 0, 1514))), [MS, 2 * MS]);
}

#[test]
fn a_reordered_frame_waits_for_the_rate_alone() {
    let asked = json!({"delay_ns": 50 * MS, "rate": {"bps": 12_304_000},
                       "reorder": {"share": 1.0, "gap": 2}});
    assert_eq!(due(&run(&asked, 1, &evenly(4, 0, 1514))), [51 * MS, 2 * MS, 53 * MS, 4 * MS]);
}

#[test]
fn a_trace_of_rate_stands_in_for_the_rate() {
    // A frame takes 1 ms; an outage lasts from 1.5 ms to 4.5 ms; then the rate is halved.
    let points = json!([[0, 12_304_000], [3 * MS / 2, 0], [9 * MS / 2, 6_152_000]]);
    let trace = json!({"kind": "rate", "points": points, "period_ns": 9 * MS});
    let asked = json!({"rate": {"bps": 5}, "trace": trace});
    let kept = run(&asked, 1, &evenly(4, 0, 1514));
    let quarters: Vec<_> = due(&kept).iter().map(|ns| ns * 4 / MS).collect();
    // Half of the second frame is left after the outage. Three quarters of the fourth are done when the
    // second round begins; the rest goes at the first rate.
    assert_eq!(quarters, [4, 22, 30, 37]);
}

#[test]
fn a_trace_that_passes_next_to_nothing_is_reckoned_at_once() {
    // 84 bytes at one bit per second, carried in the first nanosecond of each second.
    let trace = json!({"kind": "rate", "points": [[0, 1_000_000_000], [1, 0]], "period_ns": S});
    let kept = run(&json!({"trace": trace}), 1, &[(0, 60)]);
    assert_eq!(due(&kept), [671 * S + 1]);
}

#[test]
fn a_trace_of_delay_stands_in_for_the_delay() {
    let trace =
        json!({"kind": "delay", "points": [[0, 5 * MS], [10 * MS, MS]], "period_ns": 20 * MS});
    let kept = run(&json!({"delay_ns": 7, "trace": trace}), 1, &evenly(9, 4 * MS, 100));
    let delays: Vec<_> = kept.delays(&evenly(9, 4 * MS, 100)).iter().map(|ns| ns / MS).collect();
    assert_eq!(delays, [5, 5, 5, 1, 1, 5, 5, 5, 1]);
}

#[test]
fn opportunities_carry_as_many_bytes_as_mahimahi_counts() {
    let trace =
        json!({"kind": "opportunities", "at_ns": [2 * MS, 2 * MS, 5 * MS], "period_ns": 5 * MS});
    let asked = json!({"trace": trace, "queue": {"packets": 100}});
    // A full packet needs one opportunity: two leave at 2 ms, one at 5 ms.
    assert_eq!(due(&run(&asked, 1, &evenly(4, 0, 1514))), [2 * MS, 2 * MS, 5 * MS, 7 * MS]);
    // An unused opportunity is gone.
    assert_eq!(due(&run(&asked, 1, &[(3 * MS, 1514), (3 * MS, 1514)])), [5 * MS, 7 * MS]);
    // A frame that arrives at the time of an opportunity can still use it.
    assert_eq!(due(&run(&asked, 1, &[(5 * MS, 1514), (7 * MS, 60)])), [5 * MS, 7 * MS]);
    // 752 bytes fit twice; one byte more starts the next opportunity and leaves with it.
    assert_eq!(due(&run(&asked, 1, &evenly(3, 0, 762))), [2 * MS; 3]);
    assert_eq!(due(&run(&asked, 1, &evenly(4, 0, 763))), [2 * MS, 2 * MS, 2 * MS, 5 * MS]);
}

/// Generate a trace of rates: the lengths and rates of its steps, and whether it repeats.
fn any_trace() -> impl Strategy<Value = (Vec<(i64, u64)>, bool)> {
    let rate = prop_oneof![Just(0), 1_000u64..50_000_000];
    let steps = prop::collection::vec((1..3 * MS, rate), 1..6);
    (steps, any::<bool>()).prop_map(|(mut steps, again)| {
        // The last step carries something.
        steps.last_mut().unwrap().1 += 1_000_000;
        (steps, again)
    })
}

/// Return the work that a trace does until `until_ns`, in bits times nanoseconds per second.
fn work(steps: &[(i64, u64)], again: bool, until_ns: i64) -> u128 {
    let (mut now, mut done) = (0, 0);
    for i in 0.. {
        let last = i + 1 >= steps.len() && !again;
        let (length, bps) = steps[if last { steps.len() - 1 } else { i % steps.len() }];
        let end = if last { until_ns } else { until_ns.min(now + length) };
        done += (end - now) as u128 * u128::from(bps);
        now = end;
        if now == until_ns {
            break;
        }
    }
    done
}

proptest! {
    /// Check that each frame leaves in the nanosecond in which the trace has carried it.
    #[test]
    fn a_trace_carries_what_it_says(
        (steps, again) in any_trace(), sizes in prop::collection::vec(60..1514u32, 1..40)
    ) {
        let mut at = 0;
        let mut points = vec![];
        for (length, bps) in &steps {
            points.push((at, *bps));
            at += length;
        }
        let trace = json!({"kind": "rate", "points": points, "period_ns": again.then_some(at)});
        let asked = json!({"trace": trace, "queue": {"packets": 1000}});
        let arrivals: Vec<_> = sizes.iter().map(|bytes| (0, *bytes)).collect();
        let mut bits = 0;
        for (due, bytes) in due(&run(&asked, 1, &arrivals)).iter().zip(&sizes) {
            bits += u128::from((bytes + 24).max(84)) * 8 * 1_000_000_000;
            prop_assert!(work(&steps, again, *due) <= bits);
            prop_assert!(work(&steps, again, due + 1) >= bits);
        }
    }

    /// Check that an opportunity carries at most its bytes and is never unused while a frame waits.
    #[test]
    fn opportunities_are_used_and_not_exceeded(
        gaps in prop::collection::vec(0..MS, 1..10), bytes in 100..3000u32,
        sizes in prop::collection::vec(60..1514u32, 1..40),
    ) {
        let mut at = 0;
        let at_ns: Vec<i64> = gaps.iter().map(|gap| { at += gap; at }).collect();
        let period = at + 1;
        let trace = json!({"kind": "opportunities", "at_ns": at_ns, "period_ns": period, "bytes": bytes});
        let asked: Value = json!({"trace": trace, "queue": {"packets": 1000}});
        let arrivals: Vec<_> = sizes.iter().map(|bytes| (0, *bytes)).collect();
        let time = |n: usize| (n / at_ns.len()) as i64 * period + at_ns[n % at_ns.len()];
        let mut total = 0;
        for (due, size) in due(&run(&asked, 1, &arrivals)).iter().zip(&sizes) {
            total += size - 10;
            prop_assert_eq!(*due, time((total as usize).div_ceil(bytes as usize) - 1));
        }
    }
}

/// The bytes that may pass at once from each of these times on, by the definition: a budget is `bps / 8 / refills`
/// bytes, and a frame passes while a byte of it is left.
#[test]
fn a_budget_lets_frames_pass_while_a_byte_is_left() {
    let link = json!({"rate": {"bps": 1_000_000, "refills": 100, "overhead_bytes": 0, "minimum_bytes": 0},
                      "queue": {"packets": 1000}});
    // 1250 bytes every 10 ms: 20 frames of 64 bytes, or one of 1450.
    for (bytes, each) in [(64, 20), (1450, 1), (1250, 1), (1249, 2), (625, 2)] {
        let kept = run(&link, 1, &evenly(5 * each, 0, bytes));
        let expected: Vec<i64> = (0..5 * each as i64).map(|n| n / each as i64 * 10 * MS).collect();
        assert_eq!(due(&kept), expected, "{bytes}");
    }
}

#[test]
fn a_budget_is_not_saved_up_and_what_a_frame_took_beyond_it_is_forgiven() {
    let link = json!({"rate": {"bps": 1_000_000, "refills": 100, "overhead_bytes": 0, "minimum_bytes": 0}});
    let arrivals = [(0, 1450), (35 * MS, 1000), (36 * MS, 1000), (37 * MS, 1000), (41 * MS, 60)];
    let kept = run(&link, 1, &arrivals);
    assert_eq!(due(&kept), [0, 35 * MS, 36 * MS, 40 * MS, 41 * MS]);
}

#[test]
fn a_rate_of_less_than_a_byte_per_budget_waits_for_one_with_a_byte() {
    // A byte each 100 ms.
    let link = json!({"rate": {"bps": 80, "refills": 100}, "queue": {"packets": 9}});
    let kept = run(&link, 1, &evenly(4, 0, 1000));
    assert_eq!(due(&kept), [90 * MS, 190 * MS, 290 * MS, 390 * MS]);
}

proptest! {
    /// Never more than a frame beyond the budgets that have begun, whatever arrives when.
    #[test]
    fn budgets_are_kept(
        bps in 1_000u64..100_000_000,
        refills in 1u32..1000,
        gaps in prop::collection::vec((0i64..5 * MS, 60u32..1514), 1..200),
    ) {
        let link = json!({"rate": {"bps": bps, "refills": refills, "overhead_bytes": 0, "minimum_bytes": 0},
                          "queue": {"packets": 100_000}});
        let mut at = 0;
        let arrivals: Vec<_> = gaps.iter().map(|(gap, bytes)| { at += gap; (at, *bytes) }).collect();
        let kept = run(&link, 1, &arrivals);
        let mut by_budget = std::collections::BTreeMap::<i128, (u64, u64)>::new();
        for delivery in &kept.delivered {
            let bytes = u64::from(arrivals[delivery.frame as usize].1);
            let budget = i128::from(delivery.due_ns) * i128::from(refills) / 1_000_000_000;
            let entry = by_budget.entry(budget).or_default();
            *entry = (entry.0 + bytes, bytes);
        }
        for (budget, (sum, last)) in by_budget {
            let until = |n: i128| n * i128::from(bps) / (8 * i128::from(refills));
            let size = (until(budget + 1) - until(budget)) as u64;
            prop_assert!(sum - last < size, "budget {budget} of {size} bytes passed {sum}, the last {last}");
        }
        prop_assert_eq!(kept.delivered.len(), arrivals.len());
    }
}

#[test]
fn only_a_change_of_route_lets_frames_overtake() {
    let points = json!([[0, 50 * MS], [10 * MS, 5 * MS], [20 * MS, MS]]);
    let arrivals = [(9 * MS, 100), (11 * MS, 100), (19 * MS, 100), (21 * MS, 100)];
    let run_with = |routes: Value| {
        run(&json!({"trace": {"kind": "delay", "points": points, "routes": routes}}), 1, &arrivals)
    };
    let alone = due(&run(&json!({"trace": {"kind": "delay", "points": points}}), 1, &arrivals));
    assert_eq!(alone, [59 * MS, 59 * MS, 59 * MS, 59 * MS], "one route keeps the order");
    assert_eq!(due(&run_with(json!([7, 7, 7]))), alone);
    assert_eq!(due(&run_with(json!([1, 2, 2]))), [59 * MS, 16 * MS, 24 * MS, 24 * MS]);
    assert_eq!(due(&run_with(json!([1, 2, 1]))), [59 * MS, 16 * MS, 24 * MS, 22 * MS]);
}
