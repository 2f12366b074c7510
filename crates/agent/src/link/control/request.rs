//! The requests to an agent that carries links.

use delaylab_proto::Failure;
use serde::Deserialize;
use serde_json::Value;

use crate::link::plan::Change;

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Report the configuration and the counters; with `reset`, then reset the counters.
    Links {
        #[serde(default)]
        reset: bool,
    },
    /// Change conditions: all changes, or none if one of them is impossible.
    LinkSet { changes: Vec<Change> },
    /// Restart the timeline.
    LinkTimeline {},
    /// Restart the engine if it has ended.
    LinkRestart {},
}

impl Request {
    pub fn read(request: &Value) -> Result<Self, Failure> {
        Self::deserialize(request)
            .map_err(|error| Failure::new("read a request about links", error))
    }
}
