//! rtnetlink(7) messages for the operations of a plan.

use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoMacVlan, InfoVeth, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo,
    LinkMessage, MacVlanFlags, MacVlanMacAddressMode, MacVlanMode,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteNextHop, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::network::bridge;
use crate::network::tbf::Bucket;
use crate::protocol::lab::{Bridge, Capacity, End, Prefix, Queue, Route, RouteKind};
use crate::protocol::mac::Mac;
use crate::protocol::outward::{Groups, LanPort, Tunnel};

/// The transmit queue length of a virtual machine's TAP, in packets. The kernel's default of 1000 loses
/// bursts while the virtual CPU is not scheduled.
const TAP_QUEUE: u32 = 10_000;

/// The place of one end of a veth: the network namespace of a process, and an index (0: any).
pub(super) struct VethEnd {
    pub pid: u32,
    pub index: u32,
}

/// Create a veth with each end in its namespace.
pub(super) fn veth(ends: [&End; 2], places: &[VethEnd; 2]) -> RouteNetlinkMessage {
    let mut link = end(ends[0], &places[0]);
    let peer = InfoVeth::Peer(end(ends[1], &places[1]));
    link.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(peer)),
    ]));
    RouteNetlinkMessage::NewLink(link)
}

fn end(end: &End, place: &VethEnd) -> LinkMessage {
    let mut link = named(&end.name, end.mac, end.mtu);
    link.header.index = place.index;
    link.attributes.push(LinkAttribute::NetNsPid(place.pid));
    // A veth uses one queue anyway. Without these attributes the kernel creates a queue per CPU in each
    // direction and removes all but one again (drivers/net/veth.c, `veth_init_queues`): a third of the veth's
    // cost.
    link.attributes.push(LinkAttribute::NumTxQueues(1));
    link.attributes.push(LinkAttribute::NumRxQueues(1));
    link
}

fn named(name: &str, mac: Option<Mac>, mtu: Option<u32>) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes.push(LinkAttribute::IfName(name.to_owned()));
    link.attributes.extend(mac.map(|mac| LinkAttribute::Address(mac.0.to_vec())));
    link.attributes.extend(mtu.map(LinkAttribute::Mtu));
    link
}

/// Set the attributes of an existing TAP.
pub(super) fn tap_device(end: &End, index: u32) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes.extend(end.mac.map(|mac| LinkAttribute::Address(mac.0.to_vec())));
    link.attributes.extend(end.mtu.map(LinkAttribute::Mtu));
    link.attributes.push(LinkAttribute::TxQueueLen(TAP_QUEUE));
    RouteNetlinkMessage::SetLink(link)
}

/// Set the name and MTU of an existing interface.
pub(super) fn rename(index: u32, name: &str, mtu: Option<u32>) -> RouteNetlinkMessage {
    let mut link = named(name, None, mtu);
    link.header.index = index;
    RouteNetlinkMessage::SetLink(link)
}

/// Remove an interface; for a veth this removes both ends.
pub(super) fn remove(index: u32) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    RouteNetlinkMessage::DelLink(link)
}

/// Create a bridge that carries a link.
pub(super) fn bridge(of: &Bridge, index: u32) -> RouteNetlinkMessage {
    let mut link = named(&of.name, of.mac, of.mtu);
    link.header.index = index;
    link.attributes.push(bridge::attributes());
    RouteNetlinkMessage::NewLink(link)
}

/// The destination of frames whose address no entry has (`bridge fdb`, bridge(8)).
const ANY: Mac = Mac([0; 6]);

/// Create a tunnel in the namespace of a process; its packets take the network of this process's namespace.
pub(super) fn tunnel(of: &Tunnel, place: &VethEnd) -> RouteNetlinkMessage {
    let mut link = named(&of.name, of.mac, of.mtu);
    link.header.index = place.index;
    link.attributes.push(LinkAttribute::NetNsPid(place.pid));
    let local = match of.local {
        IpAddr::V4(address) => InfoVxlan::Local(address),
        IpAddr::V6(address) => InfoVxlan::Local6(address),
    };
    // All MAC addresses are known: nothing is learnt from frames, which anybody on the network could send.
    let options =
        vec![InfoVxlan::Id(of.id), local, InfoVxlan::Port(of.port), InfoVxlan::Learning(false)];
    link.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Vxlan),
        LinkInfo::Data(InfoData::Vxlan(options)),
    ]));
    RouteNetlinkMessage::NewLink(link)
}

/// Create the port of a link on a LAN in the namespace of a process, on an interface of this process's namespace. It
/// receives what the link's nodes on other machines send, whatever their destination, and nothing else receives that.
pub(super) fn lan_port(of: &LanPort, by: u32, place: &VethEnd) -> RouteNetlinkMessage {
    let sources = of.peers.iter().map(|mac| InfoMacVlan::MacAddr(mac.0)).collect();
    let options = vec![
        InfoMacVlan::Mode(MacVlanMode::Source),
        InfoMacVlan::Flags(MacVlanFlags::NoDst),
        InfoMacVlan::MacAddrMode(MacVlanMacAddressMode::Set),
        InfoMacVlan::MacAddrData(sources),
    ];
    on_lan(named(&of.name, of.mac, of.mtu), by, place, options)
}

/// Create the interface that joins groups on a LAN, as [`lan_port`] does: apart from all others on that interface.
pub(super) fn groups(of: &Groups, by: u32, place: &VethEnd) -> RouteNetlinkMessage {
    let options = vec![InfoMacVlan::Mode(MacVlanMode::Private)];
    on_lan(named(&of.name, of.mac, None), by, place, options)
}

fn on_lan(
    mut link: LinkMessage,
    by: u32,
    place: &VethEnd,
    options: Vec<InfoMacVlan>,
) -> RouteNetlinkMessage {
    link.header.index = place.index;
    link.attributes.push(LinkAttribute::NetNsPid(place.pid));
    link.attributes.push(LinkAttribute::Link(by));
    link.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::MacVlan),
        LinkInfo::Data(InfoData::MacVlan(options)),
    ]));
    RouteNetlinkMessage::NewLink(link)
}

/// Join a group by an address of its interface: the kernel is a member as long as the interface is there.
pub(super) fn membership(group: Ipv4Addr, index: u32) -> RouteNetlinkMessage {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = 32;
    // No packet comes from such an address: reports have 0.0.0.0 (RFC 4541, section 2.1.1).
    message.header.scope = AddressScope::Host;
    message.header.index = index;
    message.attributes.push(AddressAttribute::Local(group.into()));
    message.attributes.push(AddressAttribute::Address(group.into()));
    message.attributes.push(AddressAttribute::Flags(AddressFlags::Mcautojoin));
    RouteNetlinkMessage::NewAddress(message)
}

/// Return the entries of a tunnel's table: each node's frames to its machine, all others to every machine.
pub(super) fn tunnel_entries(of: &Tunnel, index: u32) -> Vec<RouteNetlinkMessage> {
    let peers = of.peers.iter();
    peers
        .flat_map(|peer| {
            let macs = std::iter::once(&ANY).chain(&peer.macs);
            macs.map(|mac| entry(*mac, peer.address, index)).collect::<Vec<_>>()
        })
        .collect()
}

fn entry(mac: Mac, to: IpAddr, index: u32) -> RouteNetlinkMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Bridge;
    message.header.ifindex = index;
    message.header.state = NeighbourState::Other(
        u16::from(NeighbourState::Noarp) | u16::from(NeighbourState::Permanent),
    );
    message.header.flags = NeighbourFlags::Own;
    let to = match to {
        IpAddr::V4(address) => NeighbourAddress::Inet(address),
        IpAddr::V6(address) => NeighbourAddress::Inet6(address),
    };
    message.attributes = vec![
        NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()),
        NeighbourAttribute::Destination(to),
    ];
    RouteNetlinkMessage::NewNeighbour(message)
}

/// Mark an interface as ours. While it is down, the kernel tells nobody.
pub(super) fn mark(index: u32, alias: &str) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes.push(LinkAttribute::IfAlias(alias.to_owned()));
    RouteNetlinkMessage::SetLink(link)
}

/// Make an interface a port of the bridge `master`, and set it up.
pub(super) fn raise(index: u32, master: Option<u32>) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link.attributes.extend(master.map(LinkAttribute::Controller));
    RouteNetlinkMessage::NewLink(link)
}

/// Add an address without duplicate address detection, so that it is usable at once.
pub(super) fn address(prefix: Prefix, index: u32) -> RouteNetlinkMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(prefix.address);
    message.header.prefix_len = prefix.length;
    message.header.index = index;
    message.attributes.push(AddressAttribute::Local(prefix.address));
    message.attributes.push(AddressAttribute::Address(prefix.address));
    if prefix.address.is_ipv6() {
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
    }
    RouteNetlinkMessage::NewAddress(message)
}

/// Add a unicast route.
pub(super) fn route(to: Prefix, route: &Route, index: Option<u32>) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(to.address);
    message.header.destination_prefix_length = to.length;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.kind = match route.kind {
        None => RouteType::Unicast,
        Some(RouteKind::Blackhole) => RouteType::BlackHole,
        Some(RouteKind::Unreachable) => RouteType::Unreachable,
        Some(RouteKind::Prohibit) => RouteType::Prohibit,
    };
    let via = route.via.as_slice();
    let direct = via.is_empty() && route.kind.is_none() && to.address.is_ipv4();
    message.header.scope = if direct { RouteScope::Link } else { RouteScope::Universe };
    if to.length > 0 {
        message.attributes.push(RouteAttribute::Destination(host(to.address)));
    }
    match via {
        [] => {}
        [one] => message.attributes.push(RouteAttribute::Gateway(host(*one))),
        several => {
            let hops = several.iter().map(|via| {
                let mut hop = RouteNextHop::default();
                hop.attributes.push(RouteAttribute::Gateway(host(*via)));
                hop
            });
            message.attributes.push(RouteAttribute::MultiPath(hops.collect()));
        }
    }
    message.attributes.extend(index.map(RouteAttribute::Oif));
    message.attributes.extend(route.metric.map(RouteAttribute::Priority));
    RouteNetlinkMessage::NewRoute(message)
}

/// Create a token bucket filter as the interface's root qdisc.
pub(super) fn queue(queue: &Queue, index: u32) -> RouteNetlinkMessage {
    let Queue { rate_bps, burst_bytes, limit_bytes, .. } = *queue;
    let bucket = Bucket { rate_bps, burst_bytes, limit_bytes, ..Bucket::default() };
    RouteNetlinkMessage::NewQueueDiscipline(bucket.of_interface(index))
}

/// Create the interface that holds what waits for a shared rate.
pub(super) fn capacity(of: &Capacity, index: u32) -> RouteNetlinkMessage {
    let mut link = named(&of.name, of.mac, of.mtu);
    link.header.index = index;
    // With several queues, frames of one flow could overtake each other.
    link.attributes.push(LinkAttribute::NumTxQueues(1));
    link.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Ifb)]));
    RouteNetlinkMessage::NewLink(link)
}

/// Create the token bucket of a shared rate.
pub(super) fn shared_rate(of: &Capacity, index: u32) -> RouteNetlinkMessage {
    let Capacity { rate_bps, burst_bytes, limit_bytes, .. } = *of;
    let bucket = Bucket { rate_bps, burst_bytes, limit_bytes, ..Bucket::default() };
    RouteNetlinkMessage::NewQueueDiscipline(bucket.of_interface(index))
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn host(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}
