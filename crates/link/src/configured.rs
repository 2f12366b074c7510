//! Conditions as they were given, by their names, and changes of them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Conditions;

/// Conditions by their names, as they were given: those of a plan, or a change, in which null removes one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(Map<String, Value>);

/// Conditions that a link can provide, with the settings that they were made of.
///
/// Both the names and their meaning are kept. A change sets only the conditions that it names, and a report shows
/// only those that somebody named.
///
/// Changes are merged here, by the engine that carries the link: two that come at once, or by the timeline, must
/// not undo each other. A plan is merged from its levels before there is an engine, in
/// `src/delaylab/spec/conditions/merge.py`; tests hold both to the same results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Configured {
    settings: Settings,
    #[serde(skip)]
    conditions: Conditions,
}

impl Configured {
    /// Read and check conditions. An error is one line that names the condition.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let conditions = Conditions::deserialize(Value::Object(settings.0.clone()))
            .map_err(|error| error.to_string())?;
        conditions.check()?;
        Ok(Self { settings, conditions })
    }

    /// Return the conditions after a change: a named one is set, null removes it, and all others stay. Parts that
    /// have no meaning without each other change as one: a trace, and anything whose `model` or `kind` changes.
    pub fn after(&self, change: &Settings) -> Result<Self, String> {
        Self::new(Settings(merged(&self.settings.0, &change.0)))
    }

    /// Return what the settings mean.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }
}

fn merged(before: &Map<String, Value>, change: &Map<String, Value>) -> Map<String, Value> {
    let mut result = if is_replaced(before, change) { Map::new() } else { before.clone() };
    for (key, value) in change {
        if value.is_null() {
            result.shift_remove(key);
            continue;
        }
        for other in alternatives(key) {
            result.shift_remove(*other);
        }
        let before = result.get(key).filter(|_| key != "trace").and_then(Value::as_object);
        let after = match value.as_object() {
            Some(parts) => Value::Object(merged(before.unwrap_or(&Map::new()), parts)),
            None => value.clone(),
        };
        result.insert(key.clone(), after);
    }
    result
}

/// Return true if the change names another variant, none of whose former parts may be kept.
fn is_replaced(before: &Map<String, Value>, change: &Map<String, Value>) -> bool {
    ["model", "kind"]
        .iter()
        .any(|tag| change.get(*tag).is_some_and(|t| before.get(*tag) != Some(t)))
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
