//! Changes of conditions, named ones only.

use serde_json::{Map, Value};

/// What is asked once `changes` are made to `asked`: what they name is changed, `null` removes it,
/// and all else stays. Parts that have no meaning without each other change as one: a `trace`,
/// and what carries another `model` or `kind` than before.
pub fn merge(asked: &Value, changes: &Value) -> Value {
    match (asked, changes) {
        (Value::Object(asked), Value::Object(changes)) => Value::Object(merged(asked, changes)),
        (_, Value::Object(changes)) => Value::Object(merged(&Map::new(), changes)),
        (_, changes) => changes.clone(),
    }
}

fn merged(asked: &Map<String, Value>, changes: &Map<String, Value>) -> Map<String, Value> {
    let mut result = if replaced(asked, changes) { Map::new() } else { asked.clone() };
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

/// Whether the changes name another variant, none of whose parts are to be taken over.
fn replaced(asked: &Map<String, Value>, changes: &Map<String, Value>) -> bool {
    ["model", "kind"]
        .iter()
        .any(|tag| changes.get(*tag).is_some_and(|t| asked.get(*tag) != Some(t)))
}

/// A queue is limited in packets or in bytes, and at the sender in neither.
fn alternatives(key: &str) -> &'static [&'static str] {
    match key {
        "packets" => &["bytes", "held"],
        "bytes" => &["packets", "held"],
        "held" => &["packets", "bytes", "discipline"],
        "discipline" => &["held"],
        _ => &[],
    }
}
