//! Conditions as JSON: parsing, errors and changes. `condition_cases.rs` tests their bounds and defaults.

mod common;

use common::merge;
use delaylab_link::{Conditions, Configured, Settings};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Parse conditions, or return the reason why they are invalid.
fn read(value: &Value) -> Result<Conditions, String> {
    let conditions: Conditions =
        serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    conditions.check()?;
    Ok(conditions)
}

fn everything() -> Value {
    json!({
        "delay_ns": 20_000_000,
        "jitter": {"spread_ns": 2_000_000, "distribution": "paretonormal", "correlation": 0.25},
        "loss": {"model": "gilbert-elliott", "to_bad": 0.01, "to_good": 0.2,
                 "lost_in_bad": 1.0, "lost_in_good": 0.0},
        "duplicate": 0.01,
        "corrupt": 0.001,
        "reorder": {"share": 0.1, "correlation": 0.5, "gap": 5},
        "rate": {"bps": 10_000_000, "overhead_bytes": 24, "minimum_bytes": 84},
        "queue": {"packets": 100, "discipline":
                  {"kind": "codel", "target_ns": 5_000_000, "interval_ns": 100_000_000}},
        "trace": {"kind": "delay", "points": [[0, 5], [10, 7]], "period_ns": 20},
    })
}

#[test]
fn what_is_read_is_written_again() {
    let read = read(&everything()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), everything());
    assert_eq!(serde_json::to_value(Conditions::default()).unwrap(), json!({}));
}

#[test]
fn what_cannot_be_had_is_refused_in_one_line() {
    let cases = [
        (json!({"delay_ns": -5}), "delay_ns: -5 is not between 0 and an hour"),
        (json!({"delay": 5}), "unknown field `delay`"),
        (json!({"duplicate": 1.4}), "duplicate: 1.4 is not between 0 and 1"),
        (json!({"loss": {"model": "independent", "share": 1.4}}), "loss.share: 1.4 is not"),
        (json!({"loss": {"model": "independent", "share": 0.1, "gap": 1}}), "unknown field `gap`"),
        (json!({"loss": {"model": "weather", "share": 0.1}}), "unknown variant `weather`"),
        (json!({"loss": {"share": 0.1}}), "missing field `model`"),
        (json!({"loss": {"model": "pattern", "runs": [3]}}), "loss.runs: needs pairs"),
        (json!({"loss": {"model": "pattern", "runs": [0, 0]}}), "loss.runs: names no frame"),
        (json!({"rate": {"bps": 0}}), "rate.bps: nothing passes at a rate of 0"),
        (json!({"reorder": {"share": 0.1, "gap": 0}}), "reorder.gap"),
        (json!({"jitter": {"spread_ns": 1, "correlation": 1.0}}), "jitter.correlation: 1 is not"),
        (json!({"jitter": {"spread_ns": 1, "distribution": {"table": []}}}), "table is empty"),
        (json!({"jitter": {"spread_ns": 1, "distribution": "flat"}}), "unknown variant `flat`"),
        (json!({"queue": {"packets": 1, "bytes": 1}}), "queue: give packets or bytes, not both"),
        (json!({"queue": {"discipline": {"kind": "codel", "min_bytes": 1}}}), "`min_bytes`"),
        (json!({"queue": {"held": "nobody"}}), "unknown variant `nobody`"),
        (
            json!({"queue": {"held": "sender", "packets": 9}}),
            "queue.held: what waits at the sender",
        ),
        (
            json!({"queue": {"held": "sender"}, "trace": {"kind": "rate", "points": [[0, 9]]}}),
            "queue.held: a sender cannot be held to a trace",
        ),
        (
            json!({"queue": {"discipline":
                   {"kind": "red", "min_bytes": 5, "max_bytes": 5, "probability": 0.1}}}),
            "min_bytes has to be less",
        ),
        (json!({"trace": {"kind": "rate", "points": []}}), "the first has to be at 0"),
        (
            json!({"trace": {"kind": "rate", "points": [[0, 9], [5, 0]]}}),
            "in the long run nothing passes",
        ),
        (json!({"trace": {"kind": "delay", "points": [[0, 1], [0, 2]]}}), "does not follow 0 ns"),
        (
            json!({"trace": {"kind": "delay", "points": [[0, 1], [9, 2]], "period_ns": 9}}),
            "more than the last point's 9 ns",
        ),
        (
            json!({"trace": {"kind": "opportunities", "at_ns": [4, 1], "period_ns": 4}}),
            "goes back in time",
        ),
        (
            json!({"trace": {"kind": "opportunities", "at_ns": [4], "period_ns": 1i64 << 50, "bytes": 1}}),
            "passes less than a bit per second",
        ),
    ];
    for (asked, why) in cases {
        let error = read(&asked).expect_err(&asked.to_string());
        assert!(error.contains(why), "{asked}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

/// Changes that Python's types cannot express; `cases/changes.json` has all others.
#[test]
fn a_change_changes_parts_that_it_names() {
    let cases = [
        (
            json!({"loss": {"model": "independent", "share": 0.1, "correlation": 0.5}}),
            json!({"loss": {"share": 0.2}}),
            json!({"loss": {"model": "independent", "share": 0.2, "correlation": 0.5}}),
        ),
        (
            json!({"rate": {"bps": 9, "overhead_bytes": 4}}),
            json!({"rate": {"bps": 8, "minimum_bytes": null}}),
            json!({"rate": {"bps": 8, "overhead_bytes": 4}}),
        ),
        (
            json!({}),
            json!({"jitter": {"spread_ns": 1, "correlation": null}}),
            json!({"jitter": {"spread_ns": 1}}),
        ),
    ];
    for (asked, changes, after) in cases {
        assert_eq!(merge(&asked, &changes), after, "{asked} {changes}");
    }
}

#[test]
fn a_change_of_one_condition_leaves_every_other() {
    let asked = everything();
    let others = asked.as_object().unwrap();
    for name in others.keys() {
        for change in [json!({name: null}), json!({name: others[name]})] {
            let after = merge(&asked, &change);
            for other in others.keys().filter(|other| *other != name) {
                assert_eq!(after[other], asked[other], "{change}");
            }
            assert_eq!(after.get(name), change.get(name).filter(|value| !value.is_null()));
        }
    }
}

/// Generate any JSON made of the keywords of conditions.
fn anything() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "delay_ns",
        "jitter",
        "spread_ns",
        "distribution",
        "table",
        "correlation",
        "loss",
        "model",
        "independent",
        "share",
        "gilbert-elliott",
        "to_bad",
        "pattern",
        "runs",
        "rate",
        "bps",
        "queue",
        "packets",
        "discipline",
        "kind",
        "codel",
        "red",
        "trace",
        "points",
        "period_ns",
        "opportunities",
        "at_ns",
        "bytes",
        "uniform",
        "duplicate",
        "corrupt",
        "reorder",
        "gap",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..8)
                .prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn reading_and_merging_never_panic(asked in anything(), changes in anything()) {
        let _ = read(&asked);
        let settings = |value: &Value| serde_json::from_value::<Settings>(value.clone()).ok();
        let Some(changes) = settings(&changes) else { return Ok(()) };
        let asked = settings(&asked).and_then(|asked| Configured::new(asked).ok());
        // A small change of valid conditions reaches deeper into the checks.
        for before in [asked, Configured::new(settings(&everything()).unwrap()).ok()] {
            let _ = before.map(|before| before.after(&changes));
        }
    }
}
