//! Doubts about a measurement.

use serde::Serialize;

/// A doubt about the measurement, in the form of the dataset's warnings.
#[derive(Serialize)]
pub struct Warning {
    kind: &'static str,
    message: String,
    remedy: &'static str,
}

impl Warning {
    /// Build a doubt of a kind that docs/protocol.md names.
    pub fn new(kind: &'static str, message: String, remedy: &'static str) -> Self {
        Self { kind, message, remedy }
    }
}
