//! Queries about neighbours: the link-layer addresses that the kernel has resolved (arp(7)).

use std::io;

use netlink_packet_route::neighbour::{
    NeighbourAttribute, NeighbourHeader, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::interface;
use super::routing::NextHop;
use super::single_request::ask;

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
            let header = NeighbourHeader::parse(&answer)
                .map_err(|error| io::Error::other(error.to_string()))?;
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
    fn loopback_has_no_neighbours_to_resolve() {
        let interface = nix::net::if_::if_nametoindex("lo").unwrap();
        let hop = NextHop { interface, neighbour: "127.0.0.1".parse().unwrap() };
        assert_eq!(resolution(hop).unwrap(), Resolution::Known);
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        let hop = NextHop { interface: i32::MAX as u32, neighbour: "192.0.2.1".parse().unwrap() };
        assert_eq!(resolution(hop).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
