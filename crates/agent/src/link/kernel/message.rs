//! rtnetlink(7) messages that lay links: bridges, interfaces that only have a queue, queues, and the
//! filter that leads frames there.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    BridgeStpState, InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoPortData, InfoPortKind,
    LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};

use super::qdisc::{Qdisc, attribute};

const TCA_OPTIONS: u16 = 2;
/// All reserved addresses but those that the kernel lets nobody forward (pause frames, LACP).
const LIKE_A_CABLE: u16 = 0xfff8;
/// The first filter, for frames of all protocols (`ETH_P_ALL`).
const FIRST_OF_ALL: u32 = 1 << 16 | (3u16.to_be() as u32);
const TCA_U32_SEL: u16 = 5;
const TCA_U32_ACT: u16 = 7;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_MIRRED_PARMS: u16 = 2;
const TC_ACT_STOLEN: u32 = 4;
const TCA_EGRESS_REDIR: u32 = 1;

/// A bridge that forwards at once, all that comes.
pub fn bridge(name: &str, mtu: u32) -> RouteNetlinkMessage {
    let options = vec![
        InfoBridge::StpState(BridgeStpState::Disabled),
        InfoBridge::ForwardDelay(0),
        InfoBridge::MulticastSnooping(false),
        InfoBridge::GroupFwdMask(LIKE_A_CABLE),
    ];
    made(name, mtu, InfoKind::Bridge, Some(InfoData::Bridge(options)))
}

/// An interface that hands back what it is given, once its queue lets it.
pub fn ifb(name: &str, mtu: u32) -> RouteNetlinkMessage {
    made(name, mtu, InfoKind::Ifb, None)
}

fn made(name: &str, mtu: u32, kind: InfoKind, data: Option<InfoData>) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    let mut info = vec![LinkInfo::Kind(kind)];
    info.extend(data.map(LinkInfo::Data));
    link.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Mtu(mtu),
        LinkAttribute::LinkInfo(info),
    ];
    RouteNetlinkMessage::NewLink(link)
}

/// Marks an interface as the lab's and brings it up.
pub fn raise(index: u32, alias: &str) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link.attributes = vec![LinkAttribute::IfAlias(alias.to_owned())];
    RouteNetlinkMessage::SetLink(link)
}

/// Makes an interface a port of a bridge.
pub fn join(index: u32, bridge: u32) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = vec![LinkAttribute::Controller(bridge)];
    RouteNetlinkMessage::SetLink(link)
}

/// A port that sends all that comes, whoever it is for: one of two.
pub fn like_a_cable(index: u32) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    let unlearned = InfoPortData::BridgePort(vec![InfoBridgePort::Learning(false)]);
    let info = vec![LinkInfo::PortKind(InfoPortKind::Bridge), LinkInfo::PortData(unlearned)];
    link.attributes = vec![LinkAttribute::LinkInfo(info)];
    RouteNetlinkMessage::NewLink(link)
}

/// Removes an interface.
pub fn remove(index: u32) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    RouteNetlinkMessage::DelLink(link)
}

/// A queue of an interface, made or changed.
pub fn queue(index: u32, queue: &Qdisc) -> RouteNetlinkMessage {
    let mut message = TcMessage::default();
    message.header.index = index.cast_signed();
    message.header.parent = TcHandle::from(queue.parent);
    message.header.handle = TcHandle::from(queue.handle);
    message.attributes = vec![
        TcAttribute::Kind(queue.kind.into()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, queue.options.clone())),
    ];
    RouteNetlinkMessage::NewQueueDiscipline(message)
}

/// Removes a queue, and with it what is in it.
pub fn remove_queue(index: u32, handle: u32, parent: u32) -> RouteNetlinkMessage {
    let mut message = TcMessage::default();
    message.header.index = index.cast_signed();
    message.header.parent = TcHandle::from(parent);
    message.header.handle = TcHandle::from(handle);
    RouteNetlinkMessage::DelQueueDiscipline(message)
}

/// The place at an interface where filters see what comes in.
pub fn ingress(index: u32) -> RouteNetlinkMessage {
    let mut message = TcMessage::default();
    message.header.index = index.cast_signed();
    message.header.parent = TcHandle::CLSACT;
    message.header.handle = TcHandle { major: u16::MAX, minor: 0 };
    message.attributes = vec![TcAttribute::Kind("clsact".into())];
    RouteNetlinkMessage::NewQueueDiscipline(message)
}

/// Leads all that comes in by an interface to another one's queue. The second hands it back behind this
/// place (`tc_skip_classify`): no frame passes twice.
pub fn redirect(index: u32, to: u32) -> RouteNetlinkMessage {
    // struct tc_u32_sel: no keys, so that all frames match; TC_U32_TERMINAL.
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
    let mut message = TcMessage::default();
    message.header.index = index.cast_signed();
    message.header.parent = TcHandle { major: u16::MAX, minor: TcHandle::MIN_INGRESS };
    message.header.info = FIRST_OF_ALL;
    message.attributes = vec![
        TcAttribute::Kind("u32".into()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options.concat())),
    ];
    RouteNetlinkMessage::NewTrafficFilter(message)
}
