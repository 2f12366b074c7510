//! An agent that carries a host's links: it waits for the network, then forwards.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;

use delaylab_os::poll::{self, Want};
use delaylab_os::report::Sender;
use delaylab_os::tcx_drop::TcxDrop;
use delaylab_os::{open_files, process};
use delaylab_proto::Failure;

use super::member::{Lent, Member};
use super::plan::Agent;
use super::report::{Report, tell};
use crate::link::{Carrier, Links, Supervisor, Work};

/// Run such an agent until the lab ends. It reports ready once frames are forwarded.
pub fn live(
    member: &Member,
    links: &Links,
    keeper: &Sender,
    mut lent: Lent,
) -> Result<(), Failure> {
    let (supervisor, listener, _drop) = match start(member, links, &mut lent) {
        Ok(started) => started,
        Err(failure) => return tell(keeper, &Report::Failed(failure)),
    };
    tell(keeper, &Report::Ready(member.index))?;
    drop(lent);
    supervisor.serve(&listener)
}

type Started<'a> = (Supervisor<'a>, UnixListener, Option<TcxDrop>);

fn start<'a>(
    member: &'a Member<'a>,
    links: &'a Links,
    lent: &mut Lent,
) -> Result<Started<'a>, Failure> {
    let failed = |error: io::Error| Failure::new("wait for the network", error);
    member.prepare()?;
    member.set_sysctls(lent)?;
    let listener = member.listen()?;
    member.configured(lent);
    if let Some(built) = &lent.built {
        poll::wait(&[(built.as_fd(), Want::Read)], None).map_err(failed)?;
    }
    // Wait for children instead of letting the kernel reap them: the engine's exit status is needed.
    process::reap_by_wait().map_err(failed)?;
    // Each port needs a program and a socket; a system's usual limit suffices for a few hundred ports.
    open_files::allow_most();
    // Without this program the host's own stack processes every frame before dropping it (crate::network::quiet).
    let drop = match links.engine {
        Carrier::Own => TcxDrop::open(links.ports()).ok(),
        // The bridge behind the ports takes all frames.
        Carrier::Kernel => None,
    };
    let Agent { name, cpus, .. } = member.agent;
    let work =
        Work { name, links, cpus: cpus.as_deref(), agents: &member.others, serve: member.serve };
    Ok((Supervisor::start(work)?, listener, drop))
}
