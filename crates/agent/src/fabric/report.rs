//! Reports of the lab's processes to the keeper.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::files::descriptor;
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
    Failure {
        what: short(&failure.what),
        why: short(&failure.why),
        fix: short(&failure.fix),
        ..*failure
    }
}

/// The length of a message: an agent's index, then its pid as PID 1 sees it, or [`CONFIGURED`].
const LENGTH: usize = 8;
const CONFIGURED: i32 = 0;

/// The end of PID 1 and of its agents.
pub(super) struct Writer(OwnedFd);

/// The builder's end, and the messages received so far.
pub(super) struct Roster {
    reader: OwnedFd,
    pids: Vec<Option<i32>>,
    configured: Vec<bool>,
}

/// Create both ends for this number of agents.
pub(super) fn pair(agents: usize) -> io::Result<(Roster, Writer)> {
    let (reader, writer) = descriptor::pipe()?;
    let roster = Roster { reader, pids: vec![None; agents], configured: vec![false; agents] };
    Ok((roster, Writer(writer)))
}

impl Writer {
    /// Report, as PID 1, that the agent has this pid.
    pub(super) fn started(&self, index: usize, pid: i32) -> io::Result<()> {
        self.write(index, pid)
    }

    /// Report, as the agent, that its namespaces are configured.
    pub(super) fn configured(&self, index: usize) -> io::Result<()> {
        self.write(index, CONFIGURED)
    }

    fn write(&self, index: usize, value: i32) -> io::Result<()> {
        let index = u32::try_from(index).expect("an index fits u32");
        // The kernel never interleaves messages of concurrent writers (pipe(7), PIPE_BUF).
        let mut message = [0; LENGTH];
        message[..4].copy_from_slice(&index.to_ne_bytes());
        message[4..].copy_from_slice(&value.to_ne_bytes());
        while descriptor::write_some(self.0.as_fd(), &message)?.is_none() {}
        Ok(())
    }
}

impl Roster {
    /// Return the pid of an agent that is configured.
    pub(super) fn pid(&self, index: usize) -> Option<i32> {
        self.pids[index].filter(|_| self.configured[index])
    }

    /// Block until the agent is configured. Return false if it cannot be any more, because an agent has died.
    pub(super) fn wait_for(&mut self, index: usize) -> io::Result<bool> {
        while self.pid(index).is_none() {
            if !self.read()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Block until all agents are configured; return false if one has died.
    pub(super) fn wait_for_all(&mut self) -> io::Result<bool> {
        while self.read()? {}
        Ok((0..self.pids.len()).all(|index| self.pid(index).is_some()))
    }

    /// Read pending messages; block if there are none. Return false at the end.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 512 * LENGTH];
        let Some(count) = descriptor::read_some(self.reader.as_fd(), &mut buffer)? else {
            return Ok(true);
        };
        for message in buffer[..count].chunks_exact(LENGTH) {
            let word = |at: usize| message[at..at + 4].try_into().expect("four bytes");
            let index = u32::from_ne_bytes(word(0)) as usize;
            match i32::from_ne_bytes(word(4)) {
                CONFIGURED => self.configured[index] = true,
                pid => self.pids[index] = Some(pid),
            }
        }
        Ok(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use delaylab_os::process::credential_channel;

    use super::*;

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

    #[test]
    fn an_agent_is_there_once_it_has_a_pid_and_is_configured() {
        let (mut roster, writer) = pair(2).unwrap();
        writer.configured(1).unwrap();
        writer.started(0, 70).unwrap();
        writer.started(1, 71).unwrap();
        assert!(roster.wait_for(1).unwrap());
        assert_eq!((roster.pid(0), roster.pid(1)), (None, Some(71)));
        drop(writer);
        assert!(!roster.wait_for(0).unwrap());
        assert!(!roster.wait_for_all().unwrap());
    }
}
