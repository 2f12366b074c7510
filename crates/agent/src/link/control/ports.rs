//! The ports of a host's links, set up or down: the node behind a port that is down sees no carrier.

use delaylab_os::interface;
use delaylab_proto::{Context, Failure};

use crate::protocol::links::EngineLinks;

/// Set all ports of links down.
pub(super) fn take_ports_down(of: &EngineLinks) -> Result<(), Failure> {
    set_ports(of.ports(), false)
}

/// Set ports up or down. Continue after an error and return the first.
pub(super) fn set_ports<'a>(ports: impl Iterator<Item = &'a str>, up: bool) -> Result<(), Failure> {
    let word = if up { "bring up" } else { "take down" };
    let mut result = Ok(());
    for port in ports {
        let done = interface::set_up(port, up).with_context(|| format!("{word} the port {port}"));
        result = result.and(done);
    }
    result
}
