//! The interfaces by which links leave for other machines.

use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::Deserialize;

use super::mac::Mac;

/// A link's way to other machines: an interface whose frames go by VXLAN (RFC 7348) over the network of this machine.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tunnel {
    pub r#in: String,
    pub name: String,
    #[serde(default)]
    pub mac: Option<Mac>,
    #[serde(default)]
    pub mtu: Option<u32>,
    /// The VXLAN network identifier.
    pub id: u32,
    /// The UDP port that packets are sent to and received at.
    pub port: u16,
    /// The address of this machine.
    pub local: IpAddr,
    pub peers: Vec<TunnelPeer>,
}

/// Another machine that a link is on, and the MAC addresses of the link's nodes there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TunnelPeer {
    pub address: IpAddr,
    #[serde(default)]
    pub macs: Vec<Mac>,
}

/// A link's way to other machines on one LAN: an interface whose frames leave as they are by an interface of this
/// machine, and which receives what the link's nodes on the other machines send.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LanPort {
    pub r#in: String,
    pub name: String,
    #[serde(default)]
    pub mac: Option<Mac>,
    #[serde(default)]
    pub mtu: Option<u32>,
    /// The interface of this machine.
    pub by: String,
    /// The MAC addresses of the link's nodes on this machine.
    pub from: Vec<Mac>,
    /// The MAC address that what they send to an IPv4 multicast group leaves to: the other node's, or the link's own
    /// group.
    pub to: Mac,
    /// The MAC addresses of the link's nodes on the other machines.
    pub peers: Vec<Mac>,
}

/// The multicast groups that links have on a LAN: an interface that joins them, so that the LAN's switches
/// send their frames to this machine (RFC 4541).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Groups {
    pub r#in: String,
    pub name: String,
    #[serde(default)]
    pub mac: Option<Mac>,
    /// The interface of this machine.
    pub by: String,
    pub groups: Vec<Ipv4Addr>,
}
