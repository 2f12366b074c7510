//! The parts of the machine's kernel that labs can use, found by trying.

use std::io::{self, Write};

use delaylab_os::interface::{self, interface_index};
use delaylab_os::netlink::RouteSocket;
use delaylab_os::service_tap::ServiceTap;
use delaylab_os::socket::filter::{Match, Transport};
use delaylab_os::tcx::tap::TcxTap;
use delaylab_proto::{Context, Failure};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoMacVlan, InfoVxlan, LinkAttribute, LinkInfo, LinkMessage, MacVlanFlags,
    MacVlanMode,
};
use serde::{Deserialize, Serialize};

use crate::link::kernel::features::Support;
use crate::link::kernel::support;
use crate::network::batch::{Batch, Verb};
use crate::network::bridge;
use crate::network::trial::in_new_network;

/// The parts of the kernel, each with the reason why it is unavailable, or `None` if it is available.
#[derive(Serialize, Deserialize)]
struct Parts {
    /// The features for links with conditions.
    #[serde(flatten)]
    links: Support,
    /// VXLAN, by which links cross from one machine to another.
    vxlan: Option<String>,
    /// macvlan, by which they do so as plain Ethernet.
    macvlan: Option<String>,
    /// Programs at the hooks of interfaces (tcx), for taps.
    tcx: Option<String>,
    /// Programs at the sockets of a control group, for taps at services.
    sockets: Option<String>,
}

/// The index of `lo`.
const LOOPBACK: u32 = 1;
/// The port that is assigned to VXLAN (RFC 7348).
const VXLAN_PORT: u16 = 4789;

/// Print as JSON what the kernel supports: each part with null, or the reason why it is unavailable.
pub(crate) fn print() -> Result<(), Failure> {
    let parts = in_new_network("try what the kernel can do", try_here)?;
    let text = serde_json::to_string(&parts).context("say what the kernel can do")?;
    writeln!(io::stdout(), "{text}").context("say what the kernel can do")
}

fn try_here() -> Result<Parts, Failure> {
    let links = support::try_here()?;
    let socket = RouteSocket::open().context("open a netlink socket")?;
    let made = |name: &str, attributes| {
        Batch::one(&socket, String::new(), Verb::Create, named(name, attributes))
    };
    let vxlan = made("vxlan~", vec![vxlan()]);
    let macvlan = made("below~", vec![bridge::attributes()])
        .and_then(|()| interface_index("below~").context("find an interface for it"))
        .and_then(|on| made("macvlan~", vec![LinkAttribute::Link(on), macvlan()]));
    let echoes = Match { transport: Transport::Icmp(0), ip: 4, probe: 0, magic: 0, snap: 0 };
    // A tap refuses an interface with a queue, and one that is down has one.
    let tcx = interface::set_up("lo", true)
        .and_then(|()| TcxTap::open(LOOPBACK, &echoes, false))
        .map(drop)
        .context("open a tap");
    let service = Match { transport: Transport::Datagrams(0), ..echoes };
    let sockets = ServiceTap::open(&service, 0, 0).map(drop).context("open a tap at sockets");
    let why = |tried: Result<(), Failure>| tried.err().map(|failure| failure.why);
    Ok(Parts {
        links,
        vxlan: why(vxlan),
        macvlan: why(macvlan),
        tcx: why(tcx),
        sockets: why(sockets),
    })
}

fn named(name: &str, attributes: Vec<LinkAttribute>) -> RouteNetlinkMessage {
    let mut link = LinkMessage::default();
    link.attributes = attributes;
    link.attributes.insert(0, LinkAttribute::IfName(name.to_owned()));
    RouteNetlinkMessage::NewLink(link)
}

fn vxlan() -> LinkAttribute {
    let options = vec![InfoVxlan::Id(1), InfoVxlan::Port(VXLAN_PORT)];
    let data = LinkInfo::Data(InfoData::Vxlan(options));
    LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Vxlan), data])
}

/// Return the attributes of an interface on another one that receives by source address and nothing else (Linux 5.13).
fn macvlan() -> LinkAttribute {
    let options =
        vec![InfoMacVlan::Mode(MacVlanMode::Source), InfoMacVlan::Flags(MacVlanFlags::NoDst)];
    let data = LinkInfo::Data(InfoData::MacVlan(options));
    LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::MacVlan), data])
}
