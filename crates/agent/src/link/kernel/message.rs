//! rtnetlink(7) messages that build links: bridges, interfaces that are only a queue, and qdiscs.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};

use super::qdisc::Qdisc;
use crate::network::bridge;

const TCA_OPTIONS: u16 = 2;

/// Create a bridge that carries a link.
pub(super) fn bridge(name: &str, mtu: u32) -> RouteNetlinkMessage {
    made(name, mtu, bridge::attributes())
}

/// Create an ifb, an interface that returns the frames that it is given once its queue releases them.
pub(super) fn ifb(name: &str, mtu: u32) -> RouteNetlinkMessage {
    made(name, mtu, LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Ifb)]))
}

fn made(name: &str, mtu: u32, kind: LinkAttribute) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.attributes = vec![LinkAttribute::IfName(name.to_owned()), LinkAttribute::Mtu(mtu), kind];
    RouteNetlinkMessage::NewLink(link)
}

/// Mark an interface as the lab's and set it up.
pub(super) fn raise(index: u32, alias: &str) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link.attributes = vec![LinkAttribute::IfAlias(alias.to_owned())];
    RouteNetlinkMessage::SetLink(link)
}

/// Make an interface a port of a bridge.
pub(super) fn join(index: u32, bridge: u32) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = vec![LinkAttribute::Controller(bridge)];
    RouteNetlinkMessage::SetLink(link)
}

/// Remove an interface.
pub(super) fn remove(index: u32) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    RouteNetlinkMessage::DelLink(link)
}

/// Create or change a qdisc of an interface.
pub(super) fn queue(index: u32, queue: &Qdisc) -> RouteNetlinkMessage {
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = TcHandle::from(queue.parent);
    message.header.handle = TcHandle::from(queue.handle);
    message.attributes = vec![
        TcAttribute::Kind(queue.kind.into()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, queue.options.clone())),
    ];
    RouteNetlinkMessage::NewQueueDiscipline(message)
}

/// Remove a qdisc with the frames in it.
pub(super) fn remove_queue(index: u32, handle: u32, parent: u32) -> RouteNetlinkMessage {
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = TcHandle::from(parent);
    message.header.handle = TcHandle::from(handle);
    RouteNetlinkMessage::DelQueueDiscipline(message)
}

/// Create the hook of an interface at which filters see received frames.
pub(super) fn ingress(index: u32) -> RouteNetlinkMessage {
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = TcHandle::CLSACT;
    message.header.handle = TcHandle { major: u16::MAX, minor: 0 };
    message.attributes = vec![TcAttribute::Kind("clsact".into())];
    RouteNetlinkMessage::NewQueueDiscipline(message)
}
