//! The frame of an agent's answers. What they hold is the agent's own (`crates/agent/src/protocol`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// An answer that can only be an error.
pub type Refusal = Reply<(), ()>;

/// An agent's message about a request: any number of events, then exactly one `Done` or `Error`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply<Event = Value, Done = Value> {
    /// An event, e.g. `{"ready": true}`; the request continues.
    Event(Event),
    /// The request succeeded. Its tables, if any, were sent before.
    Done(Done),
    /// The request failed. The stream is ready for the next one.
    Error(Failure),
}

/// The description of a failed operation, added to its error.
pub trait Context<T> {
    /// Return the value, or a failure of the operation `what` with the error as its cause.
    fn context(self, what: impl Into<String>) -> Result<T, Failure>;

    /// Return the same as [`Context::context`]; `what` is built only after an error.
    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T, Failure>;
}

impl<T, E: ToString> Context<T> for Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(what, error))
    }

    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(what(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_cause_of_a_failure_that_names_the_operation() {
        let wrong = "x".parse::<u8>();
        let expected = Failure::new("count", "invalid digit found in string");
        assert_eq!(wrong.clone().context("count"), Err(expected.clone()));
        assert_eq!(wrong.with_context(|| format!("co{}", "unt")), Err(expected));
        let never = || -> String { panic!("nothing failed") };
        assert_eq!("7".parse::<u8>().with_context(never), Ok(7));
    }
}
