//! The state of all ports of a host's links: up while their engine runs, else down.

use delaylab_os::links;
use delaylab_proto::Failure;

use crate::link::plan::Links;

/// Set all ports up or down. Continue after an error and return the first.
pub fn set_ports(of: &Links, up: bool) -> Result<(), Failure> {
    let word = if up { "bring up" } else { "take down" };
    let mut result = Ok(());
    for port in of.ports() {
        let done = links::set_up(port, up)
            .map_err(|error| Failure::new(format!("{word} the port {port}"), error));
        result = result.and(done);
    }
    result
}
