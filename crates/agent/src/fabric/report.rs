//! Reports of the lab's processes to the keeper.

use delaylab_os::process::credential_channel::Sender;
use delaylab_proto::{Context, Failure};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

/// A report.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Report {
    /// The agent with this index is listening. The sender of the message is the agent.
    Ready(usize),
    /// The network is built.
    Built,
    /// The lab cannot be built.
    Failed(Failure),
}

/// Send a report. If the keeper is gone, this process will be killed in a moment, too.
pub fn tell(keeper: &Sender, report: &Report) -> Result<(), Failure> {
    match report {
        Report::Ready(_) => info!("agent ready"),
        Report::Built => info!("network built"),
        Report::Failed(failure) => warn!(%failure, "lab fails"),
    }
    let bytes = serde_json::to_vec(report).context("report")?;
    keeper.send(&bytes).context("report to the keeper")
}
