//! The next hop of packets to an address, and how its MAC address is resolved.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::ParseableParametrized;
use netlink_packet_route::neighbour::{
    NeighbourAttribute, NeighbourHeader, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteLwEnCapType, RouteMessage, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{ask, attributes, interface};

/// The next hop of packets to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The index of the egress interface.
    pub interface: u32,
    /// The address of the neighbour that takes the packets: a gateway or the destination itself.
    pub neighbour: IpAddr,
    /// The address that the kernel gives to packets which name no source.
    pub source: Option<IpAddr>,
}

/// Return the index of the interface by which packets to an address leave. Fail with the kernel's error if it
/// has no route, and with `EHOSTUNREACH` if its route has no interface.
pub fn interface_to(to: IpAddr) -> io::Result<u32> {
    next_hop(to, None).map(|hop| hop.interface)
}

/// Return the next hop of packets to an address, by an interface if its index is given. Fails as [`interface_to`] does.
pub fn next_hop(to: IpAddr, by: Option<u32>) -> io::Result<NextHop> {
    let (family, address, length) = match to {
        IpAddr::V4(to) => (AddressFamily::Inet, RouteAddress::Inet(to), u32::BITS),
        IpAddr::V6(to) => (AddressFamily::Inet6, RouteAddress::Inet6(to), u128::BITS),
    };
    let mut message = RouteMessage::default();
    message.header.address_family = family;
    message.header.destination_prefix_length = length as u8;
    message.attributes.push(RouteAttribute::Destination(address));
    message.attributes.extend(by.map(RouteAttribute::Oif));
    let answer = ask(RouteNetlinkMessage::GetRoute(message), libc::RTM_NEWROUTE)?;
    let header = RouteHeader::parse(&answer).map_err(io::Error::other)?;
    let context = (header.address_family, header.kind, RouteLwEnCapType::None);
    let (mut interface, mut neighbour, mut source) = (None, to, None);
    for attribute in attributes(&answer, &header)
        .filter_map(|bytes| RouteAttribute::parse_with_param(&bytes, context).ok())
    {
        match attribute {
            RouteAttribute::Oif(index) => interface = Some(index),
            RouteAttribute::Gateway(RouteAddress::Inet(gateway))
            | RouteAttribute::Via(RouteVia::Inet(gateway)) => neighbour = gateway.into(),
            RouteAttribute::Gateway(RouteAddress::Inet6(gateway))
            | RouteAttribute::Via(RouteVia::Inet6(gateway)) => neighbour = gateway.into(),
            RouteAttribute::PrefSource(RouteAddress::Inet(address)) => {
                source = Some(address.into())
            }
            RouteAttribute::PrefSource(RouteAddress::Inet6(address)) => {
                source = Some(address.into())
            }
            _ => {}
        }
    }
    let interface = interface.ok_or_else(|| io::Error::from_raw_os_error(libc::EHOSTUNREACH))?;
    Ok(NextHop { interface, neighbour, source })
}

/// The state of the kernel's search for a neighbour's link-layer address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Packets leave at once: the address is known, or the interface needs none.
    Known,
    /// The kernel has asked, and packets wait for the answer.
    Pending,
    /// The kernel does not know the address: it has not asked yet, or nobody answered.
    Unknown,
}

/// Return the state of a next hop. Fails with the kernel's error, but not for a neighbour that it does not know.
pub fn resolution(hop: NextHop) -> io::Result<Resolution> {
    if !interface::resolves_neighbours(hop.interface)? {
        return Ok(Resolution::Known);
    }
    let family = if hop.neighbour.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let mut message = NeighbourMessage::default();
    message.header.family = family;
    message.header.ifindex = hop.interface;
    message.attributes.push(NeighbourAttribute::Destination(hop.neighbour.into()));
    match ask(RouteNetlinkMessage::GetNeighbour(message), libc::RTM_NEWNEIGH) {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(Resolution::Unknown),
        Err(error) => Err(error),
        Ok(answer) => {
            let header = NeighbourHeader::parse(&answer).map_err(io::Error::other)?;
            Ok(match header.state {
                NeighbourState::Incomplete => Resolution::Pending,
                NeighbourState::Failed | NeighbourState::None => Resolution::Unknown,
                _ => Resolution::Known,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_to_this_host_leave_by_loopback() {
        let loopback = nix::net::if_::if_nametoindex("lo").unwrap();
        assert_eq!(interface_to("127.0.0.1".parse().unwrap()).unwrap(), loopback);
        let here = "127.0.0.1".parse().unwrap();
        let hop = NextHop { interface: loopback, neighbour: here, source: Some(here) };
        assert_eq!(next_hop(here, None).unwrap(), hop);
    }

    #[test]
    fn loopback_has_no_neighbours_to_resolve() {
        let interface = nix::net::if_::if_nametoindex("lo").unwrap();
        let hop = NextHop { interface, neighbour: "127.0.0.1".parse().unwrap(), source: None };
        assert_eq!(resolution(hop).unwrap(), Resolution::Known);
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        let hop = NextHop {
            interface: i32::MAX as u32,
            neighbour: "192.0.2.1".parse().unwrap(),
            source: None,
        };
        assert_eq!(resolution(hop).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
