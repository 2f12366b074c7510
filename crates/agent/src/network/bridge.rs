//! rtnetlink(7) attributes of the kernel's bridges, which carry links like a cable or a hub.

use delaylab_os::kernel;
use delaylab_proto::{Context, Failure};
use netlink_packet_route::link::{
    BridgePortState, BridgeStpState, InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoPortData,
    InfoPortKind, LinkAttribute, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::protocol::mac::Mac;

/// The reserved addresses 01:80:c2:00:00:0x (IEEE 802.1Q, table 8-1) that a bridge may be told to forward, by bit.
/// The kernel refuses spanning tree, pause frames and LACP here (net/bridge/br_private.h,
/// `BR_GROUPFWD_RESTRICTED`).
const FORWARDED_BY_BRIDGE: u16 = 0xfff8;
/// The reserved addresses that a port may be told to forward: all but pause frames (`BR_GROUPFWD_MACPAUSE`), which
/// end at the other end of their cable (IEEE 802.3, annex 31B).
const FORWARDED_FROM_PORT: u16 = 0xfffd;

/// Return the attributes of a bridge that forwards at once and floods multicast.
pub(crate) fn attributes() -> LinkAttribute {
    let options = vec![
        InfoBridge::StpState(BridgeStpState::Disabled),
        InfoBridge::ForwardDelay(0),
        InfoBridge::MulticastSnooping(false),
        InfoBridge::GroupFwdMask(FORWARDED_BY_BRIDGE),
    ];
    let info = vec![LinkInfo::Kind(InfoKind::Bridge), LinkInfo::Data(InfoData::Bridge(options))];
    LinkAttribute::LinkInfo(info)
}

/// Make a port of a bridge forward frames to reserved addresses (LLDP, LACP, 802.1X), as a cable does. Without
/// `learning` a bridge of two ports forwards all frames, whatever their destination.
pub(crate) fn port(index: u32, learning: bool) -> RouteNetlinkMessage {
    let group = InfoBridgePort::GroupFwdMask(FORWARDED_FROM_PORT);
    change_of_port(index, vec![group, InfoBridgePort::Learning(learning)])
}

/// Keep a MAC address behind a port of a bridge: a frame with this source address from another port does not move it.
/// The bridge goes on learning other addresses.
pub(crate) fn hold(mac: Mac, port: u32) -> RouteNetlinkMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Bridge;
    message.header.ifindex = port;
    message.header.state = NeighbourState::Noarp;
    message.header.flags = NeighbourFlags::Controller | NeighbourFlags::Sticky;
    message.attributes = vec![NeighbourAttribute::LinkLayerAddress(mac.0.to_vec())];
    RouteNetlinkMessage::NewNeighbour(message)
}

/// Make a port of a bridge forward frames, or none in either direction, until it loses its carrier.
pub(crate) fn forwarding(index: u32, open: bool) -> RouteNetlinkMessage {
    let state = if open { BridgePortState::Forwarding } else { BridgePortState::Disabled };
    change_of_port(index, vec![InfoBridgePort::State(state)])
}

fn change_of_port(index: u32, options: Vec<InfoBridgePort>) -> RouteNetlinkMessage {
    let info = vec![
        LinkInfo::PortKind(InfoPortKind::Bridge),
        LinkInfo::PortData(InfoPortData::BridgePort(options)),
    ];
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = vec![LinkAttribute::LinkInfo(info)];
    RouteNetlinkMessage::NewLink(link)
}

/// The sysctls that disable IPv6 and the answering of ARP requests, and drop every packet from a sender that has
/// no route back by the interface: without addresses it has none.
const QUIET: [(&str, &str); 3] = [
    ("net/ipv6/conf/{}/disable_ipv6", "1"),
    ("net/ipv4/conf/{}/arp_ignore", "8"),
    ("net/ipv4/conf/{}/rp_filter", "1"),
];

/// Keep the stack from answering on these interfaces, whose frames belong to a link, in this process's current network
/// namespace.
pub(crate) fn quieten<'a>(interfaces: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    let mut interfaces = interfaces.peekable();
    if interfaces.peek().is_none() {
        return Ok(());
    }
    let sysctls = kernel::NetworkParameters::current(None).context("find sysctls")?;
    for (interface, (name, value)) in
        interfaces.flat_map(|interface| QUIET.map(|set| (interface, set)))
    {
        let name = name.replace("{}", interface);
        // A kernel without IPv6 sends none anyway.
        sysctls.set_if_there(&name, value).with_context(|| format!("set {name}"))?;
    }
    Ok(())
}
