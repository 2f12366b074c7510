//! Tables of conditions and the kernel setup that they require.

use std::collections::BTreeMap;

use delaylab_link::Conditions;
use serde_json::{Value, json};

use super::can::{Can, Part};
use super::map;
use super::qdisc::{self, Step};
use super::want::{Bounds, Room, Want};

const ALL: [Part; 8] = [
    Part::Netem,
    Part::Tbf,
    Part::Codel,
    Part::Ifb,
    Part::Clsact,
    Part::Mirred,
    Part::Bridge,
    Part::Tcx,
];

/// Return a kernel that lacks these parts.
fn without(parts: &[Part]) -> Can {
    let lacks = |part: &Part| parts.contains(part).then(|| "no such file".to_owned());
    Can(ALL.iter().map(|part| (*part, lacks(part))).collect::<BTreeMap<_, _>>())
}

fn want(asked: Value, can: &Can) -> Result<Want, String> {
    let conditions: Conditions = serde_json::from_value(asked).unwrap();
    map::want(&conditions, can, Bounds { longest: 1518, memory_bytes: 64 << 20 })
}

/// Return the kinds of the qdiscs.
fn kinds(asked: Value, can: &Can) -> Vec<&'static str> {
    qdisc::of(&want(asked, can).unwrap()).iter().map(|queue| queue.kind).collect()
}

fn independent(share: f64) -> Value {
    json!({"model": "independent", "share": share})
}

#[test]
fn what_is_asked_decides_which_queues_there_are() {
    let (all, no_netem) = (without(&[]), without(&[Part::Netem]));
    let rate = json!({"bps": 8_000_000});
    let codel = json!({"discipline": {"kind": "codel"}});
    for (asked, expected, expected_without) in [
        (json!({}), &[][..], &[][..]),
        (json!({"rate": rate}), &["netem", "tbf"], &["tbf"]),
        (json!({"rate": rate, "queue": {"bytes": 9}}), &["netem", "tbf"], &["tbf"]),
        (
            json!({"rate": rate, "queue": {"packets": 9}}),
            &["netem", "tbf", "pfifo"],
            &["tbf", "pfifo"],
        ),
        (json!({"rate": rate, "queue": codel}), &["netem", "tbf", "codel"], &["tbf", "codel"]),
        (json!({"loss": independent(0.1)}), &["netem"], &[]),
    ] {
        assert_eq!(kinds(asked.clone(), &all), expected, "{asked}");
        assert_eq!(kinds(asked.clone(), &no_netem), expected_without, "{asked}");
    }
    for asked in [
        json!({"delay_ns": 1}),
        json!({"jitter": {"spread_ns": 1}}),
        json!({"duplicate": 0.1}),
        json!({"corrupt": 0.1}),
        json!({"reorder": {"share": 0.1}}),
    ] {
        assert_eq!(kinds(asked.clone(), &all), ["netem"], "{asked}");
    }
}

#[test]
fn what_the_kernel_lacks_is_named_with_what_needs_it() {
    let rate = json!({"bps": 8_000_000});
    for (lacks, asked, says) in [
        (Part::Netem, json!({"delay_ns": 1}), "`delay_ns` needs the kernel's netem: no such file"),
        (Part::Netem, json!({"duplicate": 0.1}), "`duplicate` needs the kernel's netem"),
        (Part::Tbf, json!({"rate": rate}), "`rate` needs the kernel's tbf"),
        (Part::Ifb, json!({"rate": rate}), "`engine: kernel` needs the kernel's ifb"),
        (Part::Mirred, json!({"delay_ns": 1}), "the kernel's u32 and mirred"),
        (
            Part::Codel,
            json!({"rate": rate, "queue": {"discipline": {"kind": "codel"}}}),
            "`queue with codel` needs the kernel's codel",
        ),
    ] {
        let why = want(asked, &without(&[lacks])).unwrap_err();
        assert!(why.contains(says), "{why}");
    }
    let neither = without(&[Part::Netem, Part::Tcx]);
    let why = want(json!({"loss": independent(0.1)}), &neither).unwrap_err();
    assert!(why.contains("`loss` needs the kernel's programs (tcx)"), "{why}");
    assert!(want(json!({}), &without(&ALL)).is_ok());
}

#[test]
fn what_no_kernel_does_is_refused() {
    let all = without(&[]);
    let red = json!({"kind": "red", "min_bytes": 1, "max_bytes": 9, "probability": 0.1});
    for (asked, says) in [
        (json!({"trace": {"kind": "delay", "points": [[0, 5]]}}), "`trace`"),
        (json!({"loss": {"model": "pattern", "runs": [9, 1]}}), "`loss` by a pattern"),
        (json!({"rate": {"bps": 10_000}, "queue": {"discipline": red}}), "`red` queues"),
        (json!({"jitter": {"spread_ns": 9, "correlation": 0.5}}), "correlation of `jitter`"),
        (json!({"reorder": {"share": 0.1, "correlation": 0.5}}), "correlation of `reorder`"),
        (json!({"jitter": {"spread_ns": 3_000_000_000i64}}), "ends at a spread of 2147483647 ns"),
        (json!({"rate": {"bps": 7}}), "8 is its least"),
        (json!({"rate": {"bps": 8000, "overhead_bytes": 65_536}}), "framing up to 65535 bytes"),
    ] {
        let why = want(asked, &all).unwrap_err();
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn rates_count_framing_and_limits_follow_from_rate_and_delay() {
    let asked = json!({"delay_ns": 100_000_000, "rate": {"bps": 80_000_000}});
    let found = want(asked, &without(&[])).unwrap();
    let shape = found.shape.unwrap();
    assert_eq!(shape.bytes_per_second, 10_000_000);
    assert_eq!((shape.overhead, shape.minimum, shape.burst), (24, 84, 2 * 1518 + 100_000));
    // The bytes that arrive within twice the delay.
    assert_eq!(shape.room, Room::Bytes(2_000_000));
    // The shortest frames of 0.1 s, and those that fit into the queue.
    let limit = 1000 + 10_000_000 / 84 / 10 + 2_000_000 / 60;
    assert_eq!(found.netem.unwrap().limit, (limit as u64).min((64 << 20) / 2304) as u32);
    let long = want(json!({"delay_ns": 10_000_000_000i64}), &without(&[])).unwrap();
    assert_eq!(u64::from(long.netem.unwrap().limit), (64 << 20) / 2304, "the memory's bound");
}

#[test]
fn correlated_loss_is_a_chain_with_the_share_that_is_asked() {
    let asked = json!({"loss": {"model": "independent", "share": 0.2, "correlation": 0.5}});
    let chances = want(asked, &without(&[Part::Netem])).unwrap().loss.unwrap();
    assert_eq!((chances.lost_in_bad, chances.lost_in_good), (1.0, 0.0));
    let share = chances.to_bad / (chances.to_bad + chances.to_good);
    assert!((share - 0.2).abs() < 1e-12, "{share}");
    // The probability of a loss after a loss, less that after a kept frame.
    assert!((1.0 - chances.to_good - chances.to_bad - 0.5).abs() < 1e-12);
}

#[test]
fn a_change_keeps_queues_and_changes_only_those_that_differ() {
    let all = without(&[]);
    let wanted = |asked: Value| want(asked, &all).unwrap();
    let rate = |bps: u64| json!({"bps": bps});
    let steps = |before: &Want, after: &Want| qdisc::steps(&qdisc::of(before), &qdisc::of(after));
    let names = |steps: Vec<Step>| -> Vec<String> {
        let name = |step: &Step| match step {
            Step::Make(queue) => format!("make {}", queue.kind),
            Step::Change(queue) => format!("change {}", queue.kind),
        };
        steps.iter().map(name).collect()
    };
    let packets = json!({"packets": 50});
    let before = wanted(json!({"delay_ns": 5, "rate": rate(8000), "queue": packets}));
    for (asked, expected) in [
        (json!({"delay_ns": 5, "rate": rate(8000), "queue": packets}), &[][..]),
        (json!({"delay_ns": 7, "rate": rate(8000), "queue": packets}), &["change netem"]),
        (
            json!({"delay_ns": 5, "rate": rate(8000), "queue": {"packets": 60}}),
            &["change netem", "change pfifo"],
        ),
        // Changing the token bucket overwrites the limit of its queue, so that is set once more.
        (
            json!({"delay_ns": 5, "rate": rate(16_000), "queue": packets}),
            &["change tbf", "change pfifo"],
        ),
        (json!({}), &["change netem", "change tbf", "change pfifo"]),
    ] {
        let after = wanted(asked.clone()).keeping(&before);
        assert_eq!(names(steps(&before, &after).unwrap()), expected, "{asked}");
    }
    let bytes = json!({"delay_ns": 5, "rate": rate(8000), "queue": {"bytes": 9000}});
    let why = steps(&before, &wanted(bytes).keeping(&before)).unwrap_err();
    assert!(why.contains("would drop what waits"), "{why}");
    let nothing = wanted(json!({"loss": independent(0.1)}));
    let made = steps(&nothing, &before).unwrap();
    assert_eq!(names(made), ["change netem", "make tbf", "make pfifo"]);
}
