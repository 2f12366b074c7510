//! `addresses`: the addresses that interfaces have now.

use std::collections::BTreeMap;
use std::net::IpAddr;

use delaylab_proto::{Context, Failure};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

use crate::protocol::network::{Addresses, AddressesDone};
use crate::session::Session;

/// Return the addresses of all interfaces of the network namespace, with their prefixes.
pub(crate) fn serve(_: Addresses, _: &mut Session) -> Result<AddressesDone, Failure> {
    let mut addresses = BTreeMap::<String, Vec<String>>::new();
    for each in getifaddrs().context("read the addresses of interfaces")? {
        let Some(address) = ip(each.address) else { continue };
        if matches!(address, IpAddr::V6(address) if address.is_unicast_link_local()) {
            continue;
        }
        let length = ip(each.netmask).map_or(0, ones);
        // Of an IPv4 address it is the label, which begins with the interface's name.
        let name = each.interface_name.split(':').next().unwrap_or_default().to_owned();
        addresses.entry(name).or_default().push(format!("{address}/{length}"));
    }
    Ok(AddressesDone { addresses })
}

fn ip(address: Option<SockaddrStorage>) -> Option<IpAddr> {
    let address = address?;
    let v4 = address.as_sockaddr_in().map(|it| IpAddr::V4(it.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|it| IpAddr::V6(it.ip())))
}

fn ones(mask: IpAddr) -> u32 {
    match mask {
        IpAddr::V4(mask) => mask.to_bits().count_ones(),
        IpAddr::V6(mask) => mask.to_bits().count_ones(),
    }
}
