//! rtnetlink(7) messages that build links: bridges, interfaces that are only a queue, qdiscs, and the filter
//! that redirects frames to them.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};

use super::qdisc::{Qdisc, attribute};
use crate::network::bridge;

const TCA_OPTIONS: u16 = 2;
/// The priority and protocol of the second filter, for frames of all protocols (`ETH_P_ALL`). The first one may
/// be a program that loses frames.
const SECOND_OF_ALL: u32 = 2 << 16 | (3u16.to_be() as u32);
const TCA_U32_SEL: u16 = 5;
const TCA_U32_ACT: u16 = 7;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_MIRRED_PARMS: u16 = 2;
const TC_ACT_STOLEN: u32 = 4;
const TCA_EGRESS_REDIR: u32 = 1;

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

/// Redirect all frames received by an interface to another interface's queue. That interface returns them
/// behind this hook (`tc_skip_classify`), so no frame passes twice.
pub(super) fn redirect(index: u32, to: u32) -> RouteNetlinkMessage {
    // struct tc_u32_sel: TC_U32_TERMINAL, and no keys, so that all frames match.
    let mut selector = [0; 16];
    selector[0] = 1;
    // struct tc_mirred: index, capab, action, refcnt, bindcnt; eaction, ifindex.
    let mirred = [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, to];
    let mirred: Vec<u8> = mirred.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let action = [
        attribute(TCA_ACT_KIND, b"mirred\0"),
        attribute(TCA_ACT_OPTIONS, &attribute(TCA_MIRRED_PARMS, &mirred)),
    ];
    let options = [
        attribute(TCA_U32_SEL, &selector),
        attribute(TCA_U32_ACT, &attribute(1, &action.concat())),
    ];
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = TcHandle { major: u16::MAX, minor: TcHandle::MIN_INGRESS };
    message.header.info = SECOND_OF_ALL;
    message.attributes = vec![
        TcAttribute::Kind("u32".into()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options.concat())),
    ];
    RouteNetlinkMessage::NewTrafficFilter(message)
}
