//! The process of an agent of a lab: it holds namespaces and serves a socket in them.

use delaylab_os::report::Sender;
use delaylab_proto::Failure;

use super::member::{Lent, Member};
use super::report::{Report, tell};
use super::{carrier, monitor};
use crate::session::listen;

/// Run the agent until the lab ends: as a monitor if it has a guest, as a carrier if it has links.
pub fn live(member: &Member, keeper: &Sender, lent: Lent) -> Result<(), Failure> {
    match (&member.agent.guest, &member.agent.links) {
        (Some(guest), _) => monitor::live(member, guest, keeper, lent),
        (None, Some(links)) => carrier::live(member, links, keeper, lent),
        (None, None) => serve_node(member, keeper, lent),
    }
}

/// Serve the sessions of a node or of a host's own stack.
fn serve_node(member: &Member, keeper: &Sender, mut lent: Lent) -> Result<(), Failure> {
    let prepared = member.prepare().and_then(|()| member.set_sysctls(&lent));
    let prepared = prepared.and_then(|()| member.limit_capabilities());
    let listener = match prepared.and_then(|()| member.listen()) {
        Ok(listener) => listener,
        Err(failure) => return tell(keeper, &Report::Failed(failure)),
    };
    member.configured(&mut lent);
    tell(keeper, &Report::Ready(member.index))?;
    // Only now: whoever closes it last blocks until the kernel has unmounted it.
    drop(lent.proc);
    listen::accept(&listener, member.serve)
}
