//! `carrier`: the state of a card whose driver knows none, as User-Mode Linux's does not.
//!
//! Such a card cannot lose its carrier. It is set dormant instead (RFC 2863): the kernel then takes it for not
//! running, and tells routing daemons so (Documentation/networking/operstates.rst in Linux).

use delaylab_os::interface::interface_index;
use delaylab_os::netlink::RouteSocket;
use delaylab_proto::{Context, Failure};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage, LinkMode, State};

use super::batch::{Batch, Verb};
use crate::protocol::network::Carrier;
use crate::protocol::programs::Nothing;
use crate::session::Session;

/// Set a card of this process's network namespace dormant, or running again.
pub(crate) fn serve(request: Carrier, _: &mut Session) -> Result<Nothing, Failure> {
    let Carrier { on, up } = request;
    let what = format!("set {on} {}", if up { "running" } else { "dormant" });
    let index = interface_index(&on).with_context(|| what.clone())?;
    let socket = RouteSocket::open().with_context(|| what.clone())?;
    Batch::one(&socket, what, Verb::Change, message(index, up))?;
    Ok(Nothing {})
}

fn message(index: u32, up: bool) -> RouteNetlinkMessage {
    let (mode, state) =
        if up { (LinkMode::Default, State::Up) } else { (LinkMode::Dormant, State::Dormant) };
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = vec![LinkAttribute::Mode(mode), LinkAttribute::OperState(state)];
    RouteNetlinkMessage::SetLink(link)
}
