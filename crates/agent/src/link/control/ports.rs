//! The state of all ports of a host's links: up while their engine runs, else down.

use delaylab_os::interface;
use delaylab_proto::{Context, Failure};

use crate::protocol::links::EngineLinks;

/// Set all ports up or down. Continue after an error and return the first.
pub(super) fn set_ports(of: &EngineLinks, up: bool) -> Result<(), Failure> {
    let word = if up { "bring up" } else { "take down" };
    let mut result = Ok(());
    for port in of.ports() {
        let done = interface::set_up(port, up).with_context(|| format!("{word} the port {port}"));
        result = result.and(done);
    }
    result
}
