//! Reports of the lab's processes to the keeper.

use delaylab_os::process::credential_channel::Sender;
use delaylab_proto::{Context, Failure};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

/// The most characters of each part of a failure that a report holds: it is one datagram, which the keeper reads whole.
const LONGEST: usize = 2000;

/// A report.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Report {
    /// The agent with this index is listening. The sender of the message is the agent.
    Ready(usize),
    /// The network is built.
    Built,
    /// The lab cannot be built.
    Failed(Failure),
}

/// Send a report. If the keeper is gone, this process will be killed in a moment, too.
pub(super) fn tell(keeper: &Sender, report: &Report) -> Result<(), Failure> {
    match report {
        Report::Ready(_) => info!("agent ready"),
        Report::Built => info!("network built"),
        Report::Failed(failure) => warn!(%failure, "lab fails"),
    }
    let bytes = match report {
        Report::Failed(failure) => serde_json::to_vec(&Report::Failed(shortened(failure))),
        whole => serde_json::to_vec(whole),
    };
    let bytes = bytes.context("report")?;
    keeper.send(&bytes).context("report to the keeper")
}

/// Return a failure of which each part fits into a report: a guest may have written any of it.
fn shortened(failure: &Failure) -> Failure {
    let short = |text: &str| text.chars().take(LONGEST).collect::<String>();
    Failure { what: short(&failure.what), why: short(&failure.why), fix: short(&failure.fix) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_os::process::credential_channel;

    #[test]
    fn a_failure_of_any_length_is_reported() {
        let (keeper, reports) = credential_channel::channel().unwrap();
        let failure =
            Failure::new("set up a machine", "x".repeat(1 << 26)).fix("\u{1}".repeat(1 << 22));
        tell(&keeper, &Report::Failed(failure)).unwrap();
        let message = reports.receive().unwrap().unwrap();
        let Report::Failed(told) = serde_json::from_slice(&message.bytes).unwrap() else {
            panic!("it is a failure")
        };
        assert_eq!((told.what.as_str(), told.why.len()), ("set up a machine", LONGEST));
    }
}
