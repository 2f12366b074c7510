//! Partial changes of conditions.

use serde_json::{Map, Value};

/// Return the conditions after `changes`: a named key is changed, `null` removes it, and all others stay.
/// Parts that have no meaning without each other change as one: a `trace`, and anything whose `model` or
/// `kind` changes.
pub fn merge(configured: &Value, changes: &Value) -> Value {
    match (configured, changes) {
        (Value::Object(configured), Value::Object(changes)) => {
            Value::Object(merged(configured, changes))
        }
        (_, Value::Object(changes)) => Value::Object(merged(&Map::new(), changes)),
        (_, changes) => changes.clone(),
    }
}

fn merged(configured: &Map<String, Value>, changes: &Map<String, Value>) -> Map<String, Value> {
    let mut result = if replaced(configured, changes) { Map::new() } else { configured.clone() };
    for (key, change) in changes {
        if change.is_null() {
            result.shift_remove(key);
            continue;
        }
        for other in alternatives(key) {
            result.shift_remove(*other);
        }
        let before = result.get(key).filter(|_| key != "trace").unwrap_or(&Value::Null);
        let after = merge(before, change);
        result.insert(key.clone(), after);
    }
    result
}

/// Return true if the changes name another variant, none of whose former parts may be kept.
fn replaced(configured: &Map<String, Value>, changes: &Map<String, Value>) -> bool {
    ["model", "kind"]
        .iter()
        .any(|tag| changes.get(*tag).is_some_and(|t| configured.get(*tag) != Some(t)))
}

/// Return the keys that this key replaces: a queue is limited in packets or in bytes, at the sender in
/// neither.
fn alternatives(key: &str) -> &'static [&'static str] {
    match key {
        "packets" => &["bytes", "held"],
        "bytes" => &["packets", "held"],
        "held" => &["packets", "bytes", "discipline"],
        "discipline" => &["held"],
        _ => &[],
    }
}
