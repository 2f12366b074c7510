//! Queries about one interface: its queueing discipline, its alias, its bridge.

use std::io;

use netlink_packet_core::ParseableParametrized;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkHeader, LinkMessage};

use super::{ask, attributes};

/// Return true if an interface has a qdisc other than `noqueue`, in which packets wait before its driver
/// takes them. Fail with `ENODEV` if no interface of this network namespace has the index.
pub fn has_queue(interface: u32) -> io::Result<bool> {
    let name = find(interface, |attribute| match attribute {
        LinkAttribute::Qdisc(name) => Some(name),
        _ => None,
    })?;
    name.map(|name| name != "noqueue")
        .ok_or_else(|| io::Error::other("the kernel does not name the interface's queue"))
}

/// Return the alias of an interface; empty if it has none. Fail with `ENODEV` if no interface of this network
/// namespace has the index.
pub fn alias(interface: u32) -> io::Result<String> {
    let alias = find(interface, |attribute| match attribute {
        LinkAttribute::IfAlias(alias) => Some(alias),
        _ => None,
    })?;
    Ok(alias.unwrap_or_default())
}

/// Return the index of the bridge that an interface is a port of, if any. Fail with `ENODEV` if no interface
/// of this network namespace has the index.
pub fn master(interface: u32) -> io::Result<Option<u32>> {
    find(interface, |attribute| match attribute {
        LinkAttribute::Controller(index) => Some(index),
        _ => None,
    })
}

/// Return true if packets leave an interface only once their neighbour's link-layer address is known, as on
/// Ethernet but not on loopback or in most tunnels. Fail with `ENODEV` if no interface of this network
/// namespace has the index.
pub fn resolves_neighbours(interface: u32) -> io::Result<bool> {
    let (header, _) = describe(interface)?;
    Ok(!header.flags.intersects(LinkFlags::Loopback | LinkFlags::Noarp))
}

/// Return the kernel's description of an interface: the header, and the whole message.
fn describe(interface: u32) -> io::Result<(LinkHeader, Vec<u8>)> {
    let mut message = LinkMessage::default();
    message.header.index = interface;
    let answer = ask(RouteNetlinkMessage::GetLink(message), libc::RTM_NEWLINK)?;
    let header = LinkHeader::parse(&answer).map_err(io::Error::other)?;
    Ok((header, answer))
}

/// Return the first result of `pick` for the attributes of an interface.
fn find<T>(interface: u32, pick: impl FnMut(LinkAttribute) -> Option<T>) -> io::Result<Option<T>> {
    let (header, answer) = describe(interface)?;
    let attributes = attributes(&answer, &header)
        .filter_map(|bytes| LinkAttribute::parse_with_param(&bytes, header.interface_family).ok());
    Ok({ attributes }.find_map(pick))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> u32 {
        nix::net::if_::if_nametoindex("lo").unwrap()
    }

    #[test]
    fn loopback_has_no_queue() {
        assert!(!has_queue(loopback()).unwrap());
    }

    #[test]
    fn loopback_resolves_no_neighbours() {
        assert!(!resolves_neighbours(loopback()).unwrap());
    }

    #[test]
    fn loopback_is_in_no_bridge_and_has_no_alias() {
        assert_eq!(master(loopback()).unwrap(), None);
        assert_eq!(alias(loopback()).unwrap(), "");
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        let error = has_queue(i32::MAX as u32).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
