//! The time that a stack asks for a neighbour's link-layer address before it gives up.
//!
//! The kernel asks three times, once a second (arp(7), `mcast_solicit` and `ucast_solicit`). Over a link whose
//! round trip takes longer no neighbour would ever be found.

use std::net::IpAddr;

use delaylab_os::interface::interface_index;
use delaylab_os::netlink::RouteSocket;
use delaylab_proto::{Context, Failure};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::neighbour_table::{
    NeighbourTableAttribute, NeighbourTableMessage, NeighbourTableParameter,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::batch::{Batch, Verb};
use crate::protocol::lab::Resolved;
use crate::protocol::network::Neighbours;
use crate::protocol::programs::Nothing;
use crate::session::Session;

/// Let the stack of an interface in this process's network namespace ask so often for its neighbours.
pub(crate) fn serve(request: Neighbours, _: &mut Session) -> Result<Nothing, Failure> {
    let Neighbours { on, tries, versions } = request;
    let what = || format!("let {on} wait for neighbours");
    let index = interface_index(&on).with_context(what)?;
    let socket = RouteSocket::open().with_context(what)?;
    let mut batch = Batch::new(&socket);
    for version in versions {
        batch.push(what(), Verb::Change, message(index, version == 4, tries))?;
    }
    batch.finish()?;
    Ok(Nothing {})
}

/// Return the request to know a neighbour for good. The kernel counts no such entry towards the number that it keeps.
pub(crate) fn permanent(interface: u32, known: &Resolved) -> RouteNetlinkMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = match known.address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    };
    message.header.ifindex = interface;
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![
        NeighbourAttribute::Destination(known.address.into()),
        NeighbourAttribute::LinkLayerAddress(known.mac.0.to_vec()),
    ];
    RouteNetlinkMessage::NewNeighbour(message)
}

/// Return the request to ask `tries` times for each neighbour, once a second.
pub(crate) fn message(interface: u32, is_ipv4: bool, tries: u32) -> RouteNetlinkMessage {
    let (family, table) = match is_ipv4 {
        true => (AddressFamily::Inet, "arp_cache"),
        false => (AddressFamily::Inet6, "ndisc_cache"),
    };
    let mut message = NeighbourTableMessage::default();
    message.header.family = family;
    message.attributes = vec![
        NeighbourTableAttribute::Name(table.to_owned()),
        NeighbourTableAttribute::Parms(vec![
            NeighbourTableParameter::Ifindex(interface),
            NeighbourTableParameter::McastProbes(tries),
            NeighbourTableParameter::UcastProbes(tries),
        ]),
    ];
    RouteNetlinkMessage::SetNeighbourTable(message)
}
