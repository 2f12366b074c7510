//! A router that only warms up: in a network namespace of its own, it sends a packet back by the interface by which it
//! came, to a neighbour that is nobody. The kernel's code for sending, receiving and forwarding a frame is in the
//! CPU's caches afterwards.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::thread;

use delaylab_os::interface::interface_index;
use delaylab_os::kernel::NetworkParameters;
use delaylab_os::netlink::RouteSocket;
use delaylab_os::process::Namespaces;
use delaylab_os::process::namespace;
use delaylab_proto::{Context, Failure};
use delaylab_wire::{ETHERNET_HEADER, EthernetRepr, IpRepr, Protocol};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::network::batch::{Batch, Verb};
use crate::network::bridge::quieten;

/// The host's interface to the router, and the router's. No name of a node or link has a `~`.
const SENDS: &str = "warm~1";
const FORWARDS: &str = "warm~2";
const ROUTER: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
const NOBODY: [u8; 6] = [0x02, 0, 0, 0, 0, 2];
/// Addresses for benchmarks (RFC 2544, appendix C.2.2).
const FROM: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const TO: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
/// The length of a frame: as of a ping.
const FRAME: usize = 98;
/// The sysctls of the router's namespace, before it has an interface.
const SYSCTLS: [(&str, &str); 5] = [
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
    ("net/ipv4/ip_forward", "1"),
    // The packet leaves by the interface by which it came. The kernel would tell its sender of a better way.
    ("net/ipv4/conf/all/send_redirects", "0"),
    ("net/ipv4/conf/default/send_redirects", "0"),
];
const WHAT: &str = "build a router to warm up";

/// The router, as the engine uses it. Interfaces and namespace end with it.
#[derive(Debug)]
pub(super) struct WarmRoute {
    /// The index of the interface by which the packet is sent.
    pub interface: u32,
    /// The packet that it forwards, in its Ethernet frame.
    pub frame: [u8; FRAME],
    _namespace: File,
}

impl WarmRoute {
    /// Build the router behind an interface of the calling thread's network namespace. Fails without the right to.
    pub(super) fn build() -> Result<Self, Failure> {
        let host = current_namespace()?;
        let socket = RouteSocket::open().context(WHAT)?;
        if let Ok(left) = interface_index(SENDS) {
            // The kernel has not yet removed that of an engine that has ended.
            let mut link = LinkMessage::default();
            link.header.index = left;
            let removal = RouteNetlinkMessage::DelLink(link);
            Batch::one(&socket, WHAT.into(), Verb::Change, removal)?;
        }
        // A namespace is a thread's.
        let built = thread::spawn(move || build_router(&host)).join();
        let namespace = built.map_err(|_| Failure::new(WHAT, "its thread ended"))??;
        quieten(std::iter::once(SENDS))?;
        let interface = interface_index(SENDS).context(WHAT)?;
        Batch::one(&socket, WHAT.into(), Verb::Change, raised(interface))?;
        Ok(Self { interface, frame: frame(), _namespace: namespace })
    }
}

/// Move the calling thread into a new network namespace, and build the router there, with an interface to it in the
/// namespace `host`. Return the new namespace.
fn build_router(host: &File) -> Result<File, Failure> {
    namespace::unshare(Namespaces::CLONE_NEWNET).context(WHAT)?;
    let sysctls = NetworkParameters::current(None).context(WHAT)?;
    for (name, value) in SYSCTLS {
        sysctls.set_if_there(name, value).context(WHAT)?;
    }
    let socket = RouteSocket::open().context(WHAT)?;
    Batch::one(&socket, WHAT.into(), Verb::Create, pair(host))?;
    let forwards = interface_index(FORWARDS).context(WHAT)?;
    let mut batch = Batch::new(&socket);
    batch.push(WHAT.into(), Verb::Change, raised(forwards))?;
    batch.push(WHAT.into(), Verb::Create, route(TO, forwards))?;
    batch.push(WHAT.into(), Verb::Create, neighbour(TO, forwards))?;
    batch.finish()?;
    current_namespace()
}

fn current_namespace() -> Result<File, Failure> {
    File::open("/proc/thread-self/ns/net").context(WHAT)
}

fn pair(host: &File) -> RouteNetlinkMessage {
    let name = |name: &str| LinkAttribute::IfName(name.into());
    let (mut link, mut peer) = (LinkMessage::default(), LinkMessage::default());
    peer.attributes = vec![name(SENDS), LinkAttribute::NetNsFd(host.as_raw_fd())];
    let kind = LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
    ]);
    link.attributes = vec![name(FORWARDS), LinkAttribute::Address(ROUTER.into()), kind];
    RouteNetlinkMessage::NewLink(link)
}

fn raised(interface: u32) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = interface;
    (link.header.flags, link.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
    RouteNetlinkMessage::SetLink(link)
}

fn route(to: Ipv4Addr, by: u32) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.destination_prefix_length = 32;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.kind = RouteType::Unicast;
    message.header.scope = RouteScope::Link;
    message.attributes =
        vec![RouteAttribute::Destination(RouteAddress::Inet(to)), RouteAttribute::Oif(by)];
    RouteNetlinkMessage::NewRoute(message)
}

fn neighbour(address: Ipv4Addr, by: u32) -> RouteNetlinkMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.ifindex = by;
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![
        NeighbourAttribute::Destination(NeighbourAddress::Inet(address)),
        NeighbourAttribute::LinkLayerAddress(NOBODY.into()),
    ];
    RouteNetlinkMessage::NewNeighbour(message)
}

/// Return the frame: a packet of zeros, which nobody reads beyond its IP header.
fn frame() -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    let ip = IpRepr { from: FROM.into(), to: TO.into(), protocol: Protocol::Udp, ttl: 64 };
    EthernetRepr { to: ROUTER, from: NOBODY, ether_type: ip.ether_type() }.emit(&mut frame);
    ip.emit(&mut frame[ETHERNET_HEADER..]);
    frame
}
