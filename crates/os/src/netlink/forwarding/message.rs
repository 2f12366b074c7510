//! Messages of rtnetlink(7) about routes, next-hop objects and interfaces, as far as they say where packets go.
//!
//! They are read by hand: `netlink-packet-route` knows no next-hop objects, and a network of 1.8 million routes is
//! read four times as fast without a list of every attribute.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{
    NLM_F_APPEND, NLM_F_REPLACE, NetlinkBuffer, NlaBuffer, NlasIterator, parse_string,
};

/// The messages about next-hop objects (linux/rtnetlink.h), which libc does not have.
pub(super) const RTM_NEWNEXTHOP: u16 = 104;
const RTM_DELNEXTHOP: u16 = 105;
pub(super) const RTM_GETNEXTHOP: u16 = 106;
const RTA_NH_ID: u16 = 30;
const RTA_VIA: u16 = 18;
const NHA_ID: u16 = 1;
const NHA_GROUP: u16 = 2;
const NHA_BLACKHOLE: u16 = 4;
const NHA_OIF: u16 = 5;
const NHA_GATEWAY: u16 = 6;
/// The bytes of a member of a group: `struct nexthop_grp` of linux/nexthop.h.
const MEMBER: usize = 8;
/// The headers before the attributes: `struct rtmsg`, `nhmsg`, `ifinfomsg`, `ifaddrmsg`, `rtnexthop`.
const ROUTE_HEADER: usize = 12;
const NEXT_HOP_HEADER: usize = 8;
const LINK_HEADER: usize = 16;
const HOP_HEADER: usize = 8;
/// A hop that the kernel does not use: `RTNH_F_DEAD`.
const DEAD: u8 = 1;
/// A copy of a route that the kernel made for one destination: `RTM_F_CLONED`.
const CLONED: u32 = 0x200;

/// A next hop as the kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The index of the interface.
    pub device: u32,
    /// The address of the gateway; `None` if the destination is on the interface's link.
    pub gateway: Option<IpAddr>,
}

/// The next step of packets by a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// They end here: `blackhole`, `unreachable` or `prohibit`.
    Discard,
    /// Any of these next hops, in order and without the dead ones.
    Hops(Box<[Hop]>),
    /// The next hops of the object with this number.
    Object(u32),
}

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The first address.
    pub address: IpAddr,
    /// The number of bits that are given.
    pub length: u8,
}

/// The place of a new route among those of the same prefix and metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// Before them.
    First,
    /// After them.
    Last,
    /// Instead of the first of them.
    Instead,
}

/// A route of the main table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The destination.
    pub prefix: Prefix,
    /// The metric; the least one counts.
    pub metric: u32,
    /// The next step.
    pub target: Target,
}

/// A next-hop object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextHopObject {
    /// Packets end here.
    Discard,
    /// One next hop.
    Hop(Hop),
    /// The numbers of other objects, any of which is used.
    Group(Box<[u32]>),
}

/// The state of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The index.
    pub index: u32,
    /// The name.
    pub name: String,
    /// True if it is set up (`IFF_UP`).
    pub admin_up: bool,
    /// True if it has a carrier (`IFF_LOWER_UP`).
    pub carrier: bool,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A route is new or has changed.
    RouteSet(Route, Insertion),
    /// A route is gone.
    RouteGone(Route),
    /// A next-hop object is new or has changed.
    NextHopSet(u32, NextHopObject),
    /// A next-hop object is gone.
    NextHopGone(u32),
    /// An interface is new or may have changed.
    LinkSet(Link),
    /// The interface with this index is gone.
    LinkGone(u32),
    /// An address is gone, and with it perhaps routes that the kernel does not name.
    AddressGone,
}

impl Message {
    /// Read a message; `None` for one that says nothing about where packets go by the main table, or is malformed.
    pub(super) fn read(message: &NetlinkBuffer<&[u8]>) -> Option<Self> {
        let payload = message.payload();
        match message.message_type() {
            libc::RTM_NEWROUTE => Some(Self::RouteSet(route(payload)?, place(message.flags()))),
            libc::RTM_DELROUTE => route(payload).map(Self::RouteGone),
            RTM_NEWNEXTHOP => {
                let (id, object) = next_hop(payload)?;
                Some(Self::NextHopSet(id, object?))
            }
            RTM_DELNEXTHOP => next_hop(payload).map(|(id, _)| Self::NextHopGone(id)),
            libc::RTM_NEWLINK => link(payload).map(Self::LinkSet),
            libc::RTM_DELLINK => link(payload).map(|link| Self::LinkGone(link.index)),
            libc::RTM_DELADDR => Some(Self::AddressGone),
            _ => None,
        }
    }
}

fn place(flags: u16) -> Insertion {
    if flags & NLM_F_REPLACE != 0 {
        Insertion::Instead
    } else if flags & NLM_F_APPEND != 0 {
        Insertion::Last
    } else {
        Insertion::First
    }
}

/// Return the attributes after a header of so many bytes, up to the first that is malformed or cut.
fn after(payload: &[u8], header: usize) -> impl Iterator<Item = NlaBuffer<&[u8]>> {
    NlasIterator::new(payload.get(header..).unwrap_or_default()).map_while(Result::ok)
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?))
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(bytes).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|bytes| Ipv6Addr::from(bytes).into())
}

/// Read the gateway of an attribute, if it is one: `RTA_GATEWAY`, or `RTA_VIA` of another family than the route's.
fn gateway(attribute: &NlaBuffer<&[u8]>) -> Option<IpAddr> {
    match attribute.kind() {
        libc::RTA_GATEWAY => address(attribute.value()),
        RTA_VIA => address(attribute.value().get(2..)?),
        _ => None,
    }
}

/// Read a route of the main table to unicast addresses that are not of one link alone.
fn route(payload: &[u8]) -> Option<Route> {
    let &[family, length, source, service, table, _, _, kind, ref rest @ ..] = payload else {
        return None;
    };
    let family = i32::from(family);
    // Routes by a packet's source or by its type of service are not followed.
    let plain = source == 0 && service == 0 && number(rest)? & CLONED == 0;
    if !plain || ![libc::AF_INET, libc::AF_INET6].contains(&family) {
        return None;
    }
    let nowhere = if family == libc::AF_INET {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    let mut prefix = Prefix { address: nowhere, length };
    let (mut table, mut metric, mut object) = (u32::from(table), 0, None);
    let (mut device, mut via, mut hops) = (None, None, Vec::new());
    for attribute in after(payload, ROUTE_HEADER) {
        let value = attribute.value();
        match attribute.kind() {
            libc::RTA_TABLE => table = number(value)?,
            libc::RTA_DST => prefix.address = address(value)?,
            libc::RTA_PRIORITY => metric = number(value)?,
            libc::RTA_OIF => device = Some(number(value)?),
            libc::RTA_GATEWAY | RTA_VIA => via = gateway(&attribute),
            libc::RTA_MULTIPATH => hops = several(value)?,
            RTA_NH_ID => object = Some(number(value)?),
            _ => {}
        }
    }
    if table != u32::from(libc::RT_TABLE_MAIN) || is_local(prefix.address) {
        return None;
    }
    let dead = number(rest)? & u32::from(DEAD) != 0;
    hops.extend(device.filter(|_| !dead).map(|device| Hop { device, gateway: via }));
    let target = match kind {
        libc::RTN_UNICAST => object.map_or_else(|| target(hops), Target::Object),
        libc::RTN_BLACKHOLE | libc::RTN_UNREACHABLE | libc::RTN_PROHIBIT => Target::Discard,
        _ => return None,
    };
    Some(Route { prefix, metric, target })
}

/// Return true for addresses that no router forwards: link-local ones, and those of groups.
fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_multicast(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.is_multicast(),
    }
}

fn target(mut hops: Vec<Hop>) -> Target {
    hops.sort_unstable();
    hops.dedup();
    Target::Hops(hops.into())
}

/// Read the next hops of `RTA_MULTIPATH` that are not dead: `struct rtnexthop`, each with its attributes.
fn several(mut bytes: &[u8]) -> Option<Vec<Hop>> {
    let mut hops = Vec::new();
    while !bytes.is_empty() {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let hop = bytes.get(..length.max(HOP_HEADER))?;
        let gateway = after(hop, HOP_HEADER).find_map(|attribute| gateway(&attribute));
        if hop[2] & DEAD == 0 {
            hops.push(Hop { device: number(&hop[4..])?, gateway });
        }
        bytes = bytes.get(length.max(HOP_HEADER).next_multiple_of(4)..).unwrap_or_default();
    }
    Some(hops)
}

/// Read the number of a next-hop object, and what it is; that is missing if the message does not say.
fn next_hop(payload: &[u8]) -> Option<(u32, Option<NextHopObject>)> {
    let (mut id, mut device, mut gateway, mut object) = (None, None, None, None);
    for attribute in after(payload, NEXT_HOP_HEADER) {
        let value = attribute.value();
        match attribute.kind() {
            NHA_ID => id = Some(number(value)?),
            NHA_OIF => device = Some(number(value)?),
            NHA_GATEWAY => gateway = address(value),
            NHA_BLACKHOLE => object = Some(NextHopObject::Discard),
            NHA_GROUP => {
                let members = value.chunks_exact(MEMBER).map(number);
                object = Some(NextHopObject::Group(members.collect::<Option<_>>()?));
            }
            _ => {}
        }
    }
    let hop = device.map(|device| NextHopObject::Hop(Hop { device, gateway }));
    Some((id?, object.or(hop)))
}

/// Read the state of an interface. Messages of another family, such as those about a bridge's ports, say nothing
/// about that.
fn link(payload: &[u8]) -> Option<Link> {
    if i32::from(*payload.first()?) != libc::AF_UNSPEC {
        return None;
    }
    let (index, flags) = (number(payload.get(4..)?)?, number(payload.get(8..)?)?);
    let name = after(payload, LINK_HEADER).find(|each| each.kind() == libc::IFLA_IFNAME);
    let has = |flag: i32| flags & flag.cast_unsigned() != 0;
    Some(Link {
        index,
        name: name.and_then(|name| parse_string(name.value()).ok()).unwrap_or_default(),
        admin_up: has(libc::IFF_UP),
        carrier: has(libc::IFF_LOWER_UP),
    })
}

#[cfg(test)]
mod tests;
