//! The process of an agent of a lab: it holds namespaces and serves a socket in them.

use delaylab_os::process::credential_channel::Sender;
use delaylab_proto::Failure;

use super::member::{Member, StartupResources};
use super::report::{Report, tell};
use super::{link_agent, monitor};
use crate::logging;
use crate::session::listen;

/// Run the agent until the lab ends: as a monitor if it has a guest, as the agent of its links if it has links.
pub(super) fn live(
    member: &Member,
    keeper: &Sender,
    resources: StartupResources,
) -> Result<(), Failure> {
    logging::to_file(member.place, &member.agent.name);
    match (&member.agent.guest, &member.agent.links) {
        (Some(guest), _) => monitor::live(member, guest, keeper, resources),
        (None, Some(links)) => link_agent::live(member, links, keeper, resources),
        (None, None) => serve_node(member, keeper, resources),
    }
}

/// Serve the sessions of a node or of a host's own stack.
fn serve_node(
    member: &Member,
    keeper: &Sender,
    mut resources: StartupResources,
) -> Result<(), Failure> {
    let prepared = member.prepare().and_then(|()| member.set_sysctls(&resources));
    let prepared = prepared.and_then(|()| member.limit_capabilities());
    let listener = match prepared.and_then(|()| member.listen()) {
        Ok(listener) => listener,
        Err(failure) => return tell(keeper, &Report::Failed(failure)),
    };
    member.configured(&mut resources);
    tell(keeper, &Report::Ready(member.index))?;
    // Only now: whoever closes it last blocks until the kernel has unmounted it.
    drop(resources.proc);
    listen::accept(&listener, member.serve)
}
