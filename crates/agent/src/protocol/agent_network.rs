//! The network that an agent of a plan is in.

use serde::Deserialize;

/// The network of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(crate) enum AgentNetwork {
    New,
    /// The network that the agent's guest brings.
    Guest,
    Machine,
    /// The network of an earlier agent.
    Of(String),
}

impl From<String> for AgentNetwork {
    fn from(word: String) -> Self {
        match word.as_str() {
            "new" => Self::New,
            "guest" => Self::Guest,
            "machine" => Self::Machine,
            _ => Self::Of(word),
        }
    }
}
