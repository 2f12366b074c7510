//! The cases of conditions that this crate and Python share (`cases/README.md`).

use std::path::Path;

use delaylab_link::{Configured, Settings};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    name: String,
    conditions: Settings,
    accepted: bool,
    full: Option<Value>,
    #[serde(default)]
    changes: Vec<Change>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    set: Settings,
    result: Value,
}

/// Read the cases of all files.
fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            let read: Vec<Case> = serde_json::from_str(&text).unwrap();
            cases.extend(read);
        }
    }
    assert!(!cases.is_empty());
    cases
}

#[test]
fn each_case_is_accepted_or_refused_as_it_says() {
    for case in cases() {
        let read = Configured::new(case.conditions);
        assert_eq!(read.is_ok(), case.accepted, "{}: {read:?}", case.name);
    }
}

#[test]
fn parts_left_out_have_the_defaults_of_the_case() {
    for case in cases() {
        if let Some(full) = case.full {
            let read = Configured::new(case.conditions).expect(&case.name);
            assert_eq!(serde_json::to_value(read.conditions()).unwrap(), full, "{}", case.name);
        }
    }
}

#[test]
fn changes_have_the_result_of_the_case() {
    for case in cases() {
        for change in case.changes {
            let before = Configured::new(case.conditions.clone()).expect(&case.name);
            let after = before.after(&change.set).expect(&case.name);
            let after = serde_json::to_value(after).unwrap();
            assert_eq!(after, change.result, "{}: {:?}", case.name, change.set);
        }
    }
}
