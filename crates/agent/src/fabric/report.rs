//! What the lab's processes tell the keeper.

use delaylab_os::report::Sender;
use delaylab_proto::Failure;
use serde::{Deserialize, Serialize};

/// One message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Report {
    /// The agent with this index listens. The message's sender is the agent.
    Ready(usize),
    /// The network is built.
    Built,
    /// The lab cannot be built.
    Failed(Failure),
}

/// Sends a report. If the keeper is gone, so is this process in a moment.
pub fn tell(keeper: &Sender, report: &Report) -> Result<(), Failure> {
    let bytes = serde_json::to_vec(report).map_err(|error| Failure::new("report", error))?;
    keeper.send(&bytes).map_err(|error| Failure::new("report to the keeper", error))
}
