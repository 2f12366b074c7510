//! An agent's answers. Each request is defined by a struct where it is served.

use serde::{Deserialize, Serialize};

/// The reason why a request failed, in the form that a user reads: what, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Failure {
    /// The operation that failed, e.g. `bind ICMP socket`.
    pub what: String,
    /// The cause, e.g. `Permission denied`.
    pub why: String,
    /// The remedy for the user; empty if none is known.
    #[serde(default)]
    pub fix: String,
}

impl Failure {
    /// Build a failure without a known remedy.
    pub fn new(what: impl Into<String>, why: impl ToString) -> Self {
        Self { what: what.into(), why: why.to_string(), fix: String::new() }
    }

    /// Add a remedy to the failure.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }
}

/// An agent's message about a request: any number of events, then exactly one `Done` or `Error`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// An event, e.g. `{"ready": true}`; the request continues.
    Event(serde_json::Value),
    /// The request succeeded. Its tables, if any, were sent before.
    Done(serde_json::Value),
    /// The request failed. The stream is ready for the next one.
    Error(Failure),
}
