//! What can be asked of an agent that carries links.

use delaylab_proto::Failure;
use serde::Deserialize;
use serde_json::Value;

use super::plan::Change;

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// What was asked and what was done; with `reset` the counts then begin anew.
    Links {
        #[serde(default)]
        reset: bool,
    },
    /// Other conditions: all changes, or none if one of them cannot be made.
    LinkSet { changes: Vec<Change> },
    /// Start the timeline anew.
    LinkTimeline {},
    /// Start the engine again, if it has ended.
    LinkRestart {},
}

impl Request {
    pub fn read(request: &Value) -> Result<Self, Failure> {
        Self::deserialize(request)
            .map_err(|error| Failure::new("read a request about links", error))
    }
}
