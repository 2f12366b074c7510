//! Messages of literal bytes.

use super::*;

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = (4 + value.len() as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn header(family: i32, length: u8, kind: u8, flags: u32) -> Vec<u8> {
    let mut bytes = vec![family as u8, length, 0, 0, libc::RT_TABLE_MAIN, 0, 0, kind];
    bytes.extend(flags.to_ne_bytes());
    bytes
}

const NET: &[u8] = &[198, 18, 0, 0];

fn hop(device: u32, gateway: &str) -> Hop {
    Hop { device, gateway: Some(gateway.parse().unwrap()) }
}

fn prefix() -> Prefix {
    Prefix { address: "198.18.0.0".parse().unwrap(), length: 15 }
}

#[test]
fn a_route_over_one_hop_is_read() {
    let bytes = [
        header(libc::AF_INET, 15, libc::RTN_UNICAST, 0),
        attribute(libc::RTA_DST, NET),
        attribute(libc::RTA_PRIORITY, &20u32.to_ne_bytes()),
        attribute(libc::RTA_GATEWAY, &[10, 0, 0, 1]),
        attribute(libc::RTA_OIF, &7u32.to_ne_bytes()),
    ];
    let target = Target::Hops([hop(7, "10.0.0.1")].into());
    assert_eq!(route(&bytes.concat()), Some(Route { prefix: prefix(), metric: 20, target }));
}

#[test]
fn hops_of_a_route_over_several_are_sorted_and_dead_ones_left_out() {
    let one = |device: u32, flags: u8, via: Vec<u8>| {
        let mut bytes = (8 + via.len() as u16).to_ne_bytes().to_vec();
        bytes.extend([flags, 0]);
        bytes.extend(device.to_ne_bytes());
        bytes.extend(via);
        bytes
    };
    // The second one is over IPv6 (RTA_VIA), the third one dead, the fourth one without a carrier.
    let six = [&(libc::AF_INET6 as u16).to_ne_bytes()[..], &Ipv6Addr::LOCALHOST.octets()].concat();
    let hops = [
        one(9, 0, attribute(libc::RTA_GATEWAY, &[10, 0, 0, 9])),
        one(8, 0, attribute(RTA_VIA, &six)),
        one(7, DEAD, attribute(libc::RTA_GATEWAY, &[10, 0, 0, 7])),
        one(6, 16, Vec::new()),
    ];
    let bytes = [
        header(libc::AF_INET, 15, libc::RTN_UNICAST, 0),
        attribute(libc::RTA_DST, NET),
        attribute(libc::RTA_MULTIPATH, &hops.concat()),
    ];
    let six = hop(8, "::1");
    let wanted = [Hop { device: 6, gateway: None }, six, hop(9, "10.0.0.9")];
    let read = route(&bytes.concat()).unwrap();
    assert_eq!(read.target, Target::Hops(wanted.into()));
}

#[test]
fn a_route_by_an_object_names_it_and_one_that_discards_has_no_hops() {
    let of = |kind, more: Vec<u8>| {
        let bytes = [header(libc::AF_INET, 15, kind, 0), attribute(libc::RTA_DST, NET), more];
        route(&bytes.concat()).map(|route| route.target)
    };
    let object = attribute(RTA_NH_ID, &5u32.to_ne_bytes());
    assert_eq!(of(libc::RTN_UNICAST, object), Some(Target::Object(5)));
    let device = attribute(libc::RTA_OIF, &1u32.to_ne_bytes());
    assert_eq!(of(libc::RTN_UNREACHABLE, device), Some(Target::Discard));
    assert_eq!(of(libc::RTN_LOCAL, Vec::new()), None);
}

#[test]
fn routes_that_no_packet_is_forwarded_by_are_left_out() {
    let device = attribute(libc::RTA_OIF, &1u32.to_ne_bytes());
    let local = [
        header(libc::AF_INET6, 64, libc::RTN_UNICAST, 0),
        attribute(libc::RTA_DST, &"fe80::".parse::<Ipv6Addr>().unwrap().octets()),
        device.clone(),
    ];
    let cloned = [header(libc::AF_INET, 0, libc::RTN_UNICAST, CLONED), device.clone()];
    let table = attribute(libc::RTA_TABLE, &100u32.to_ne_bytes());
    let other = [header(libc::AF_INET, 0, libc::RTN_UNICAST, 0), table, device];
    for bytes in [local.concat(), cloned.concat(), other.concat(), vec![2; 7]] {
        assert_eq!(route(&bytes), None);
    }
}

#[test]
fn objects_are_hops_groups_or_ends() {
    let of = |attributes: &[Vec<u8>]| next_hop(&[vec![0; 8], attributes.concat()].concat());
    let id = attribute(NHA_ID, &3u32.to_ne_bytes());
    let device = attribute(NHA_OIF, &7u32.to_ne_bytes());
    let via = attribute(NHA_GATEWAY, &[10, 0, 0, 1]);
    let one = NextHopObject::Hop(hop(7, "10.0.0.1"));
    assert_eq!(of(&[id.clone(), device, via]), Some((3, Some(one))));
    let members = [&8u32.to_ne_bytes()[..], &[0; 4], &9u32.to_ne_bytes(), &[0; 4]].concat();
    let group = NextHopObject::Group([8, 9].into());
    assert_eq!(of(&[id.clone(), attribute(NHA_GROUP, &members)]), Some((3, Some(group))));
    let end = attribute(NHA_BLACKHOLE, &[]);
    assert_eq!(of(&[end, id]), Some((3, Some(NextHopObject::Discard))));
    assert_eq!(of(&[]), None);
}

#[test]
fn a_link_has_a_name_and_two_states() {
    let flags = (libc::IFF_UP | libc::IFF_LOWER_UP).cast_unsigned();
    let mut bytes = vec![0; 4];
    bytes.extend(7u32.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(attribute(libc::IFLA_IFNAME, b"one\0"));
    let up = Link { index: 7, name: "one".into(), admin_up: true, carrier: true };
    assert_eq!(link(&bytes), Some(up));
    bytes[0] = libc::AF_BRIDGE as u8;
    assert_eq!(link(&bytes), None);
}
