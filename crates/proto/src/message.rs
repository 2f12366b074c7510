//! What an agent answers. Requests are defined where they are served, each by its own struct.

use serde::{Deserialize, Serialize};

/// Why a request failed, in the form that a user reads: what, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Failure {
    /// What could not be done, e.g. `bind ICMP socket`.
    pub what: String,
    /// The cause, e.g. `Permission denied`.
    pub why: String,
    /// What the user can do; empty if nothing is known.
    #[serde(default)]
    pub fix: String,
}

impl Failure {
    /// A failure without a known remedy.
    pub fn new(what: impl Into<String>, why: impl ToString) -> Self {
        Self { what: what.into(), why: why.to_string(), fix: String::new() }
    }

    /// The same failure with a remedy.
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
    /// Something happened, e.g. `{"ready": true}`; the request goes on.
    Event(serde_json::Value),
    /// The request ended well; its tables, if any, were sent before.
    Done(serde_json::Value),
    /// The request failed; the stream is ready for the next one.
    Error(Failure),
}
