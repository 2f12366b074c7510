//! The process of an agent of a lab: it holds namespaces and serves a socket in them.

use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;

use delaylab_os::clsact::DropAll;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::credential_channel::Sender;
use delaylab_os::process::{self, open_files};
use delaylab_proto::{Context, Failure};

use super::member::{Member, StartupResources};
use super::report::{Report, tell};
use super::{guest, nat};
use crate::link::{EngineTask, Supervisor};
use crate::logging;
use crate::protocol::lab::{Agent, Nat, RealInterface};
use crate::protocol::links::{EngineKind, EngineLinks};
use crate::session::listen;

/// Run the agent until the lab ends: as a monitor if it has a guest, as the agent of its links if it has links.
pub(super) fn live(
    member: &Member,
    keeper: &Sender,
    resources: StartupResources,
) -> Result<(), Failure> {
    logging::to_file(member.place, &member.agent.name);
    match (&member.agent.guest, &member.agent.links) {
        (Some(guest), _) => guest::live(member, guest, keeper, resources),
        (None, Some(links)) => carry_links(member, links, keeper, resources),
        (None, None) => match &member.agent.nat {
            Some(nat) => lead_outside(member, nat, keeper, resources),
            None => serve_node(member, keeper, resources),
        },
    }
}

/// Run the agent of a node's way outside until the lab ends. It reports ready once the node has the way.
fn lead_outside(
    member: &Member,
    nat: &Nat,
    keeper: &Sender,
    mut resources: StartupResources,
) -> Result<(), Failure> {
    let listener = member.prepare().and_then(|()| member.listen());
    member.configured(&mut resources);
    let listener = listener.and_then(|listener| {
        wait_for_network(&resources)?;
        nat::start(nat, &member.others)?;
        Ok(listener)
    });
    let listener = match listener {
        Ok(listener) => listener,
        Err(failure) => return tell(keeper, &Report::Failed(failure)),
    };
    tell(keeper, &Report::Ready(member.index))?;
    drop(resources);
    listen::accept(&listener, member.serve)
}

/// Serve the sessions of a node or of a host's own stack.
fn serve_node(
    member: &Member,
    keeper: &Sender,
    mut resources: StartupResources,
) -> Result<(), Failure> {
    let prepared = member.prepare().and_then(|()| member.set_sysctls(&resources));
    let interface = prepared.and_then(|()| {
        let interface = member.agent.interface.as_ref().map(RealInterface::claim).transpose()?;
        member.limit_capabilities()?;
        Ok((interface, member.listen()?))
    });
    let (interface, listener) = match interface {
        Ok(both) => both,
        Err(failure) => return tell(keeper, &Report::Failed(failure)),
    };
    member.configured(&mut resources);
    if let Some(claimed) = interface {
        wait_for_network(&resources)?;
        if let Err(failure) = claimed.join() {
            return tell(keeper, &Report::Failed(failure));
        }
    }
    tell(keeper, &Report::Ready(member.index))?;
    // Only now: whoever closes it last blocks until the kernel has unmounted it.
    drop(resources.proc);
    listen::accept(&listener, member.serve)
}

/// Wait until the builder has made the network.
fn wait_for_network(resources: &StartupResources) -> Result<(), Failure> {
    let Some(built) = &resources.built else { return Ok(()) };
    poll::wait(&[(built.as_fd(), Interest::Read)], None).context("wait for the network")?;
    Ok(())
}

/// Run such an agent until the lab ends. It reports ready once frames are forwarded.
fn carry_links(
    member: &Member,
    links: &EngineLinks,
    keeper: &Sender,
    mut resources: StartupResources,
) -> Result<(), Failure> {
    let (supervisor, listener, _drop) = match start(member, links, &mut resources) {
        Ok(started) => started,
        Err(failure) => return tell(keeper, &Report::Failed(failure)),
    };
    tell(keeper, &Report::Ready(member.index))?;
    drop(resources);
    supervisor.serve(&listener)
}

type Started<'a> = (Supervisor<'a>, UnixListener, Option<DropAll>);

fn start<'a>(
    member: &'a Member<'a>,
    links: &'a EngineLinks,
    resources: &mut StartupResources,
) -> Result<Started<'a>, Failure> {
    member.prepare()?;
    member.set_sysctls(resources)?;
    let listener = member.listen()?;
    member.configured(resources);
    wait_for_network(resources)?;
    // Wait for children instead of letting the kernel reap them: the engine's exit status is needed.
    process::reap_by_wait().context("wait for the network")?;
    // Each port with a queue, such as a TAP device, needs a socket.
    open_files::allow_most();
    // Without this program the host's own stack processes every frame before dropping it (`network::quiet`).
    let drop = match links.engine {
        EngineKind::Own => DropAll::open(links.ports()).ok(),
        // The bridge behind the ports takes all frames.
        EngineKind::Kernel => None,
    };
    let Agent { name, cpus, .. } = member.agent;
    let task = EngineTask {
        name,
        links,
        cpus: cpus.as_deref(),
        agents: &member.others,
        place: member.place,
        serve: member.serve,
    };
    Ok((Supervisor::start(task)?, listener, drop))
}
