//! Probe packets as bytes: unvalidated views of captured packets, and representations of packets to send that
//! cannot be illegal. No I/O and no clock: [`parse`] and the `emit` functions are pure.

mod be;
mod checksum;
pub mod dns;
mod echo;
mod ethernet;
mod frame;
mod header;
mod intact;
mod ip;
pub mod pcapng;
mod tcp;
mod udp;

pub use checksum::{Sum, pseudo_header};
pub use echo::{ECHO_HEADER, EchoRepr, EchoView};
pub use ethernet::{ETHERNET_HEADER, EtherType, EthernetRepr, EthernetView, VLAN_TAG};
pub use frame::{Leg, NotAProbe, Sighting, Transport, parse, parse_datagram, parse_ip, parse_tcp};
pub use header::{MAGIC, PROBE_HEADER, ProbeRepr, ProbeView, VERSION};
pub use intact::{icmp_is_intact, is_corrupted};
pub use ip::{IPV4_HEADER, IPV6_HEADER, IpRepr, IpView, Protocol};
pub use tcp::{TCP_HEADER, TcpSegment, TcpView};
pub use udp::{UDP_HEADER, UdpRepr, UdpView};
