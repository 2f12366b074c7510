//! Tables of conditions and the kernel setup that they require.

use std::collections::BTreeMap;
use std::path::Path;

use delaylab_link::Conditions;
use serde::Deserialize;
use serde_json::{Value, json};

use super::features::{Feature, Support};
use super::qdisc::{self, Step};
use super::setup::{self, Bounds, RateQueue, Setup};

const ALL: [Feature; 8] = [
    Feature::Netem,
    Feature::Tbf,
    Feature::Codel,
    Feature::Ifb,
    Feature::Clsact,
    Feature::Mirred,
    Feature::Bridge,
    Feature::Bpf,
];

/// Return a kernel that lacks these parts.
fn without(features: &[Feature]) -> Support {
    let lacks = |feature: &Feature| features.contains(feature).then(|| "no such file".to_owned());
    Support(ALL.iter().map(|feature| (*feature, lacks(feature))).collect::<BTreeMap<_, _>>())
}

fn setup(conditions: Value, support: &Support) -> Result<Setup, String> {
    let conditions: Conditions = serde_json::from_value(conditions).unwrap();
    setup::mapped(&conditions, support, Bounds { longest: 1518, memory_bytes: 64 << 20 })
}

/// Return the kinds of the qdiscs.
fn kinds(conditions: Value, support: &Support) -> Vec<&'static str> {
    qdisc::of(&setup(conditions, support).unwrap()).iter().map(|queue| queue.kind).collect()
}

fn independent(share: f64) -> Value {
    json!({"model": "independent", "share": share})
}

#[test]
fn what_is_asked_decides_which_queues_there_are() {
    let (all, no_netem) = (without(&[]), without(&[Feature::Netem]));
    let rate = json!({"bps": 8_000_000});
    let codel = json!({"discipline": {"kind": "codel"}});
    for (conditions, expected, expected_without) in [
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
        assert_eq!(kinds(conditions.clone(), &all), expected, "{conditions}");
        assert_eq!(kinds(conditions.clone(), &no_netem), expected_without, "{conditions}");
    }
    for conditions in [
        json!({"delay_ns": 1}),
        json!({"jitter": {"spread_ns": 1}}),
        json!({"duplicate": 0.1}),
        json!({"corrupt": 0.1}),
        json!({"reorder": {"share": 0.1}}),
    ] {
        assert_eq!(kinds(conditions.clone(), &all), ["netem"], "{conditions}");
    }
}

#[test]
fn what_the_kernel_lacks_is_named_with_what_needs_it() {
    let rate = json!({"bps": 8_000_000});
    for (lacks, conditions, says) in [
        (
            Feature::Netem,
            json!({"delay_ns": 1}),
            "`delay_ns` needs the kernel's netem: no such file",
        ),
        (Feature::Netem, json!({"duplicate": 0.1}), "`duplicate` needs the kernel's netem"),
        (Feature::Tbf, json!({"rate": rate}), "`rate` needs the kernel's tbf"),
        (Feature::Ifb, json!({"rate": rate}), "`engine: kernel` needs the kernel's ifb"),
        (Feature::Mirred, json!({"delay_ns": 1}), "the kernel's u32 and mirred"),
        (
            Feature::Codel,
            json!({"rate": rate, "queue": {"discipline": {"kind": "codel"}}}),
            "`queue with codel` needs the kernel's codel",
        ),
    ] {
        let why = setup(conditions, &without(&[lacks])).unwrap_err();
        assert!(why.contains(says), "{why}");
    }
    let neither = without(&[Feature::Netem, Feature::Bpf]);
    let why = setup(json!({"loss": independent(0.1)}), &neither).unwrap_err();
    assert!(why.contains("`loss` needs the kernel's programs (BPF)"), "{why}");
    assert!(setup(json!({}), &without(&ALL)).is_ok());
}

#[test]
fn what_no_kernel_does_is_refused() {
    let all = without(&[]);
    let red = json!({"kind": "red", "min_bytes": 1, "max_bytes": 9, "probability": 0.1});
    for (conditions, says) in [
        (json!({"trace": {"kind": "delay", "points": [[0, 5]]}}), "`trace`"),
        (json!({"loss": {"model": "pattern", "runs": [9, 1]}}), "`loss` by a pattern"),
        (json!({"rate": {"bps": 10_000}, "queue": {"discipline": red}}), "`red` queues"),
        (json!({"jitter": {"spread_ns": 9, "correlation": 0.5}}), "correlation of `jitter`"),
        (json!({"reorder": {"share": 0.1, "correlation": 0.5}}), "correlation of `reorder`"),
        (json!({"jitter": {"spread_ns": 3_000_000_000i64}}), "ends at a spread of 2147483647 ns"),
        (json!({"rate": {"bps": 7}}), "no rate below 8 bit/s"),
        (json!({"rate": {"bps": 8000, "overhead_bytes": 65_536}}), "framing up to 65535 bytes"),
    ] {
        let why = setup(conditions, &all).unwrap_err();
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn rates_count_framing_and_limits_follow_from_rate_and_delay() {
    let conditions = json!({"delay_ns": 100_000_000, "rate": {"bps": 80_000_000}});
    let found = setup(conditions, &without(&[])).unwrap();
    let shape = found.shape.unwrap();
    assert_eq!(shape.bytes_per_second, 10_000_000);
    assert_eq!((shape.overhead, shape.minimum, shape.burst), (24, 84, 2 * 1518 + 100_000));
    // The bytes that arrive within twice the delay.
    assert_eq!(shape.queue, RateQueue::Bytes(2_000_000));
    // The shortest frames of 0.1 s, and those that fit into the queue.
    let limit = 1000 + 10_000_000 / 84 / 10 + 2_000_000 / 60;
    assert_eq!(found.netem.unwrap().limit, (limit as u64).min((64 << 20) / 2304) as u32);
    let long = setup(json!({"delay_ns": 10_000_000_000i64}), &without(&[])).unwrap();
    assert_eq!(u64::from(long.netem.unwrap().limit), (64 << 20) / 2304, "the memory's bound");
}

#[test]
fn correlated_loss_is_a_chain_with_the_share_that_is_asked() {
    let conditions = json!({"loss": {"model": "independent", "share": 0.2, "correlation": 0.5}});
    let chances = setup(conditions, &without(&[Feature::Netem])).unwrap().loss.unwrap();
    assert_eq!((chances.lost_in_bad, chances.lost_in_good), (1.0, 0.0));
    let share = chances.to_bad / (chances.to_bad + chances.to_good);
    assert!((share - 0.2).abs() < 1e-12, "{share}");
    // The probability of a loss after a loss, less that after a kept frame.
    assert!((1.0 - chances.to_good - chances.to_bad - 0.5).abs() < 1e-12);
}

#[test]
fn a_change_keeps_queues_and_changes_only_those_that_differ() {
    let all = without(&[]);
    let wanted = |conditions: Value| setup(conditions, &all).unwrap();
    let rate = |bps: u64| json!({"bps": bps});
    let steps = |before: &Setup, after: &Setup| qdisc::steps(&qdisc::of(before), &qdisc::of(after));
    let names = |steps: Vec<Step>| -> Vec<String> {
        let name = |step: &Step| match step {
            Step::Make(queue) => format!("make {}", queue.kind),
            Step::Change(queue) => format!("change {}", queue.kind),
        };
        steps.iter().map(name).collect()
    };
    let packets = json!({"packets": 50});
    let before = wanted(json!({"delay_ns": 5, "rate": rate(8000), "queue": packets}));
    for (conditions, expected) in [
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
        let after = wanted(conditions.clone()).keeping(&before);
        assert_eq!(names(steps(&before, &after).unwrap()), expected, "{conditions}");
    }
    let bytes = json!({"delay_ns": 5, "rate": rate(8000), "queue": {"bytes": 9000}});
    let why = steps(&before, &wanted(bytes).keeping(&before)).unwrap_err();
    assert!(why.contains("would drop what waits"), "{why}");
    let nothing = wanted(json!({"loss": independent(0.1)}));
    let made = steps(&nothing, &before).unwrap();
    assert_eq!(names(made), ["change netem", "make tbf", "make pfifo"]);
}

/// A case of conditions that the crates and Python share (`crates/link/tests/cases/README.md`).
#[derive(Deserialize)]
struct Case {
    name: String,
    conditions: Value,
    /// Absent where the own engine does not accept the conditions either.
    kernel: Option<bool>,
}

#[test]
fn each_case_is_accepted_or_refused_by_the_kernel_engine_as_it_says() {
    let (folder, all) = (concat!(env!("CARGO_MANIFEST_DIR"), "/../link/tests/cases"), without(&[]));
    let mut tried = 0;
    for entry in Path::new(folder).read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let cases: Vec<Case> =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for case in cases {
            let Some(accepted) = case.kernel else { continue };
            let found = setup(case.conditions, &all);
            assert_eq!(found.is_ok(), accepted, "{}: {:?}", case.name, found.err());
            tried += 1;
        }
    }
    assert!(tried > 0);
}
