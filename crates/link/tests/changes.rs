//! A change of one condition leaves the others as they were and loses no waiting frame.

mod common;

use common::{Frame, Kept, MS, S, conditions, drain, merge, offer_all, run};
use delaylab_link::{Pipe, Reason};
use serde_json::{Value, json};

/// Return every condition with two values that draw the same random numbers. So the frames after a change
/// must fare as if the second value had been there from the start.
fn each() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("delay_ns", json!(3 * MS), json!(4 * MS)),
        (
            "jitter",
            json!({"spread_ns": MS, "correlation": 0.5}),
            json!({"spread_ns": MS / 2, "correlation": 0.5, "distribution": "pareto"}),
        ),
        (
            "loss",
            json!({"model": "gilbert-elliott", "to_bad": 0.2, "to_good": 0.3}),
            json!({"model": "gilbert-elliott", "to_bad": 0.2, "to_good": 0.3, "lost_in_bad": 0.5}),
        ),
        ("duplicate", json!(0.2), json!(0.4)),
        ("corrupt", json!(0.2), json!(0.4)),
        ("reorder", json!({"share": 0.2}), json!({"share": 0.4})),
        ("rate", json!({"bps": 50_000_000}), json!({"bps": 70_000_000, "overhead_bytes": 0})),
        ("queue", json!({"packets": 1}), json!({"bytes": 2500})),
        (
            "trace",
            json!({"kind": "delay", "points": [[0, MS], [PERIOD / 2, 2 * MS]], "period_ns": PERIOD}),
            json!({"kind": "delay", "points": [[0, 2 * MS], [PERIOD / 4, 0]], "period_ns": PERIOD}),
        ),
    ]
}

/// The distance between bursts, so large that each finds the link idle.
const PERIOD: i64 = 20 * MS;
const BURST: u64 = 3;
const BURSTS: u64 = 200;
/// The first frame after the change.
const CHANGED: u64 = BURSTS / 2 * BURST;

fn bursts() -> Vec<(i64, u32)> {
    let frame = |number: u64| ((number / BURST) as i64 * PERIOD + number as i64, 1000);
    (0..BURSTS * BURST).map(frame).collect()
}

/// Run the bursts with a change between two of them.
fn run_changed(before: &Value, change: &Value) -> Kept {
    let arrivals = bursts();
    let (first, second) = arrivals.split_at(CHANGED as usize);
    let mut pipe = Pipe::new(conditions(before), 7, 0);
    let mut kept = Kept::default();
    offer_all(&mut pipe, 0, first, &mut kept);
    let now_ns = (CHANGED / BURST) as i64 * PERIOD;
    pipe.advance(now_ns, &mut kept);
    pipe.change(conditions(&merge(before, change)), now_ns);
    offer_all(&mut pipe, CHANGED, second, &mut kept);
    drain(&mut pipe, &mut kept);
    kept
}

/// Return the part of a run whose frames satisfy `is_in`.
fn part(kept: &Kept, is_in: impl Fn(Frame) -> bool) -> Kept {
    let mut part = kept.clone();
    part.delivered.retain(|delivery| is_in(delivery.frame));
    part.dropped.retain(|dropped| is_in(dropped.0));
    part
}

/// Assert that a change has its effect, and no other, on a link with all of `asked`.
fn assert_nothing_else_changed(asked: &Value, name: &str, after: &Value) {
    let change = json!({name: after});
    let changed = run_changed(asked, &change);
    let old = run(asked, 7, &bursts());
    let new = run(&merge(asked, &change), 7, &bursts());
    let before = |frame| frame < CHANGED;
    let later = |frame| frame >= CHANGED;
    assert_eq!(part(&changed, before), part(&old, before), "{asked} before {change}");
    assert_eq!(part(&changed, later), part(&new, later), "{asked} after {change}");
}

#[test]
fn a_change_of_each_leaves_each_other() {
    for (name, before, after) in each() {
        for (other, value, _) in each().iter().filter(|(other, ..)| *other != name) {
            let asked = json!({name: before, other.to_string(): value});
            assert_nothing_else_changed(&asked, name, &after);
        }
    }
}

#[test]
fn a_change_of_each_leaves_all_others_at_once() {
    let all: Value =
        each().into_iter().map(|(name, before, _)| (name.to_string(), before)).collect();
    for (name, _, after) in each() {
        assert_nothing_else_changed(&all, name, &after);
        // The trace replaces `delay_ns`, so only that change has no effect.
        let after = run(&merge(&all, &json!({name: after})), 7, &bursts());
        assert_eq!(run(&all, 7, &bursts()) == after, name == "delay_ns", "{name}");
    }
}

#[test]
fn the_state_of_loss_stays_when_another_condition_changes() {
    // Once bad, all frames are lost for ever; a state that restarted would be good again.
    let loss = json!({"model": "gilbert-elliott", "to_bad": 0.02, "to_good": 0.0});
    let kept = run_changed(&json!({"loss": loss}), &json!({"delay_ns": 5}));
    let last = kept.delivered.last().expect("the first frames find it good").frame;
    assert!(last < CHANGED, "{last}");
}

#[test]
fn a_pattern_goes_on_where_it_was() {
    let asked = json!({"loss": {"model": "pattern", "runs": [6, 1]}});
    let lost: Vec<_> =
        run_changed(&asked, &json!({"duplicate": 0.5})).dropped.iter().map(|d| d.0).collect();
    assert_eq!(lost, (6..BURSTS * BURST).step_by(7).collect::<Vec<_>>());
}

#[test]
fn another_pattern_begins_anew() {
    let asked = json!({"loss": {"model": "pattern", "runs": [3, 1, 5, 7]}});
    let change = json!({"loss": {"runs": [9, 1]}});
    let kept = run_changed(&asked, &change);
    let lost = kept.dropped.iter().map(|dropped| dropped.0).filter(|frame| *frame >= CHANGED);
    assert!(lost.eq((CHANGED + 9..BURSTS * BURST).step_by(10)));
}

#[test]
fn codel_goes_on_where_it_was() {
    let asked = json!({"delay_ns": MS, "rate": {"bps": 10_000_000},
                       "queue": {"packets": 1000, "discipline": {"kind": "codel"}}});
    let arrivals: Vec<_> = (0..2000).map(|i| (i * MS, 1500)).collect();
    let undisturbed = run(&asked, 1, &arrivals);
    assert!(undisturbed.dropped_for(Reason::Early) > 20);
    for change in
        [json!({"delay_ns": 7 * MS}), json!({"corrupt": 0.5}), json!({"jitter": {"spread_ns": 9}})]
    {
        let mut pipe = Pipe::new(conditions(&asked), 1, 0);
        let mut kept = Kept::default();
        offer_all(&mut pipe, 0, &arrivals[..1000], &mut kept);
        pipe.change(conditions(&merge(&asked, &change)), 999 * MS);
        offer_all(&mut pipe, 1000, &arrivals[1000..], &mut kept);
        drain(&mut pipe, &mut kept);
        assert_eq!(kept.dropped, undisturbed.dropped, "{change}");
    }
}

#[test]
fn a_trace_goes_on_where_it_was() {
    let trace =
        json!({"kind": "opportunities", "at_ns": [3 * MS], "period_ns": 30 * MS, "bytes": 9000});
    let asked = json!({"trace": trace});
    for change in [json!({"delay_ns": MS}), json!({"rate": {"bps": 5, "overhead_bytes": 0}})] {
        let delay = change["delay_ns"].as_i64().unwrap_or(0);
        let kept = run_changed(&asked, &change);
        for delivery in kept.delivered.iter().filter(|delivery| delivery.frame >= CHANGED) {
            assert_eq!((delivery.due_ns - delay) % (30 * MS), 3 * MS, "{change}");
        }
    }
}

#[test]
fn frames_that_wait_stay_whatever_changes() {
    let slow = json!({"rate": {"bps": 1_000_000}, "queue": {"packets": 50}});
    for change in [
        json!({"rate": {"bps": 2_000_000}}),
        json!({"rate": null}),
        json!({"queue": {"packets": 1}}),
        json!({"queue": null}),
        json!({"trace": {"kind": "opportunities", "at_ns": [5], "period_ns": MS}}),
        json!({"trace": {"kind": "rate", "points": [[0, 0], [MS, 1000]]}}),
        json!({"loss": {"model": "independent", "share": 1.0}}),
    ] {
        let mut pipe = Pipe::new(conditions(&slow), 1, 0);
        let mut kept = Kept::default();
        offer_all(&mut pipe, 0, &[(0, 1000); 40], &mut kept);
        pipe.advance(20 * MS, &mut kept);
        let waiting = pipe.waiting();
        let leaving = kept.delivered.len();
        pipe.change(conditions(&merge(&slow, &change)), 20 * MS);
        assert_eq!(pipe.waiting(), waiting, "{change}");
        drain(&mut pipe, &mut kept);
        assert_eq!((kept.delivered.len(), kept.dropped.len()), (40, 0), "{change}");
        // Waiting frames leave in order, and not before the change.
        assert!(kept.delivered.is_sorted_by_key(|delivery| delivery.due_ns));
        assert!(kept.delivered[leaving..].iter().all(|delivery| delivery.due_ns >= 20 * MS));
    }
}

#[test]
fn a_frame_that_is_leaving_goes_on_under_the_new_rate() {
    // 12 304 bits take 12.304 s in all, of which 3.076 s are over at the change.
    let slow = json!({"rate": {"bps": 1000}});
    let outage = json!({"trace": {"kind": "rate", "points": [[0, 0], [3600 * S, 1_000_000]]}});
    let at = 3_076 * MS;
    for (asked, change, ends) in [
        (&slow, json!({"rate": {"bps": 2000}}), [7_690 * MS, 13_842 * MS]),
        (&slow, json!({"rate": null}), [at, at]),
        (&outage, json!({"trace": null}), [at, at]),
        (&slow, json!({"delay_ns": 1}), [12_304 * MS + 1, 24_608 * MS + 1]),
    ] {
        let mut pipe = Pipe::new(conditions(asked), 1, 0);
        let mut kept = Kept::default();
        offer_all(&mut pipe, 0, &[(0, 1514); 2], &mut kept);
        pipe.advance(at, &mut kept);
        assert_eq!(pipe.waiting(), (2, 3028));
        pipe.change(conditions(&merge(asked, &change)), at);
        drain(&mut pipe, &mut kept);
        for (delivery, end) in kept.delivered.iter().zip(ends) {
            assert_eq!(delivery.due_ns, end, "{change}");
        }
    }
}

#[test]
fn a_frame_that_is_leaving_meets_every_change() {
    let rate = |bps: u64| conditions(&json!({"rate": {"bps": bps}}));
    let mut pipe = Pipe::new(rate(1000), 1, 0);
    let mut kept = Kept::default();
    pipe.offer(0, 1514, 0, &mut kept);
    // 3076 bits of 12 304 leave until the first change, 4614 until the second, 4614 after it.
    pipe.change(rate(2000), 3_076 * MS);
    pipe.change(rate(1000), 5_383 * MS);
    drain(&mut pipe, &mut kept);
    assert_eq!(kept.delivered[0].due_ns, 9_997 * MS);
}

#[test]
fn less_delay_does_not_turn_the_order_round() {
    let mut pipe = Pipe::new(conditions(&json!({"delay_ns": 40 * MS})), 1, 0);
    let mut kept = Kept::default();
    pipe.offer(0, 100, 0, &mut kept);
    pipe.change(conditions(&json!({"delay_ns": 10 * MS})), MS);
    pipe.offer(2 * MS, 100, 1, &mut kept);
    pipe.offer(35 * MS, 100, 2, &mut kept);
    let due: Vec<_> = kept.delivered.iter().map(|delivery| delivery.due_ns).collect();
    assert_eq!(due, [40 * MS, 40 * MS, 45 * MS]);
}

#[test]
fn a_link_that_is_not_up_drops_what_is_offered_and_lets_go_on_what_it_has() {
    for state in ["down", "silent"] {
        let arrivals: Vec<(i64, u32)> = (0..30).map(|number| (number * MS, 1000)).collect();
        let mut pipe = Pipe::new(conditions(&json!({"delay_ns": 5 * MS})), 7, 0);
        let mut kept = Kept::default();
        offer_all(&mut pipe, 0, &arrivals[..10], &mut kept);
        pipe.change(conditions(&json!({"delay_ns": 5 * MS, "state": state})), 10 * MS);
        offer_all(&mut pipe, 10, &arrivals[10..20], &mut kept);
        pipe.change(conditions(&json!({"delay_ns": 5 * MS})), 20 * MS);
        offer_all(&mut pipe, 20, &arrivals[20..], &mut kept);
        drain(&mut pipe, &mut kept);
        let delivered: Vec<Frame> = kept.delivered.iter().map(|d| d.frame).collect();
        assert_eq!(delivered, (0..10).chain(20..30).collect::<Vec<_>>());
        assert_eq!(kept.delays(&arrivals), [5 * MS; 20]);
        assert_eq!(kept.dropped, (10..20).map(|frame| (frame, Reason::Down)).collect::<Vec<_>>());
    }
}

#[test]
fn an_outage_draws_no_random_number() {
    let loss = json!({"loss": {"model": "independent", "share": 0.5}});
    let fates = |outage: bool| {
        let mut pipe = Pipe::new(conditions(&loss), 7, 0);
        let mut kept = Kept::default();
        if outage {
            pipe.change(conditions(&merge(&loss, &json!({"state": "silent"}))), 0);
            offer_all(&mut pipe, 1000, &[(0, 100), (1, 100), (2, 100)], &mut Kept::default());
            pipe.change(conditions(&loss), 3);
        }
        let arrivals: Vec<(i64, u32)> = (0..100).map(|number| (10 + number, 100)).collect();
        offer_all(&mut pipe, 0, &arrivals, &mut kept);
        drain(&mut pipe, &mut kept);
        kept.dropped
    };
    assert_eq!(fates(true), fates(false));
}
