//! Doubts about a measurement.

use serde_json::{Value, json};

/// Build a doubt about the measurement, in the form of the dataset's warnings.
pub fn warning(kind: &str, message: String, remedy: &str) -> Value {
    json!({"kind": kind, "message": message, "remedy": remedy})
}
