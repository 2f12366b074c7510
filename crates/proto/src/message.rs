//! The frame of an agent's answers. What they hold is the agent's own (`crates/agent/src/protocol`).

use std::any::Any;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of a failure, for programs: what else it says is for readers, and may be reworded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The program of a command cannot be started; `errno` says why.
    NotStarted,
    /// The request is not in a form that this agent knows: another version of delaylab sent it.
    OtherVersion,
    /// Any other failure, also one of a kind that this version does not know.
    #[default]
    #[serde(other)]
    Failed,
}

/// The reason why a request failed, in the form that a user reads: what, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Failure {
    /// The operation that failed, e.g. `bind ICMP socket`.
    pub what: String,
    /// The cause, e.g. `Permission denied`.
    pub why: String,
    /// The remedy for the user; empty if none is known.
    #[serde(default)]
    pub fix: String,
    /// The kind of failure; an agent of another version may state none.
    #[serde(default)]
    pub kind: FailureKind,
    /// The system's error number (errno(3)) if a call of the system is the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
}

impl Failure {
    /// Build a failure without a known remedy.
    pub fn new(what: impl Into<String>, why: impl ToString) -> Self {
        Self {
            what: what.into(),
            why: why.to_string(),
            fix: String::new(),
            kind: FailureKind::Failed,
            errno: None,
        }
    }

    /// Build a failure with an error as its cause, and with the system's number if it has one.
    fn caused(what: impl Into<String>, cause: &(impl ToString + 'static)) -> Self {
        let system = (cause as &dyn Any).downcast_ref::<io::Error>();
        let errno = system.and_then(io::Error::raw_os_error);
        Self { errno, ..Self::new(what, cause.to_string()) }
    }

    /// Add a remedy to the failure.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Set the failure's kind.
    #[must_use]
    pub fn kind(mut self, kind: FailureKind) -> Self {
        self.kind = kind;
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

impl<T, E: ToString + 'static> Context<T> for Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| Failure::caused(what, &error))
    }

    fn with_context<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T, Failure> {
        self.map_err(|error| Failure::caused(what(), &error))
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

    #[test]
    fn a_failure_has_the_number_of_the_system_s_error() {
        let missing = Err::<(), _>(io::Error::from_raw_os_error(2)).context("open it");
        assert_eq!(missing.map_err(|failure| failure.errno), Err(Some(2)));
        let other = Err::<(), _>(io::Error::other("no")).context("open it");
        assert_eq!(other.map_err(|failure| failure.errno), Err(None));
    }

    #[test]
    fn failures_of_other_versions_are_read() {
        let read = |text| serde_json::from_str::<Failure>(text).map(|read| (read.kind, read.errno));
        let plain = (FailureKind::Failed, None);
        assert_eq!(read(r#"{"what": "a", "why": "b"}"#).ok(), Some(plain));
        assert_eq!(read(r#"{"what": "a", "why": "b", "kind": "newer"}"#).ok(), Some(plain));
        let known = r#"{"what": "a", "why": "b", "kind": "not-started", "errno": 2}"#;
        assert_eq!(read(known).ok(), Some((FailureKind::NotStarted, Some(2))));
    }
}
