//! The interfaces of a lab whose packets take the network of this machine: the ways of links to other machines.

use delaylab_os::interface::{self, interface_index};
use delaylab_proto::{Context, Failure};
use netlink_packet_route::RouteNetlinkMessage;
use nix::errno::Errno;

use super::message::{self, VethEnd};
use crate::protocol::outward::{Groups, LanPort, Tunnel};

const OLD_KERNEL: &str =
    "its kernel may be too old: plain Ethernet needs Linux 5.13, `data_plane: vxlan` does not";

/// An interface in a namespace of the lab, made from the machine's.
#[derive(Clone, Copy)]
pub(super) enum Outward<'a> {
    Tunnel(&'a Tunnel),
    LanPort(&'a LanPort),
    Groups(&'a Groups),
}

const TAKEN: &str = "another VXLAN of this machine has its identifier and port: run `up` again, which draws others, \
                     or choose another `vxlan_port:`";

/// Return the kernel's refusal to make such interfaces, with a remedy if there is one.
pub(super) fn explained(failure: Failure, on_lan: bool) -> Failure {
    let is = |errno: Errno| failure.errno == Some(errno as i32);
    if on_lan && (is(Errno::EINVAL) || is(Errno::EOPNOTSUPP)) {
        failure.fix(OLD_KERNEL)
    } else if !on_lan && is(Errno::EEXIST) {
        failure.fix(TAKEN)
    } else {
        failure
    }
}

impl<'a> Outward<'a> {
    /// Return its agent and its name.
    pub(super) fn place(self) -> (&'a str, &'a str) {
        match self {
            Self::Tunnel(tunnel) => (&tunnel.r#in, &tunnel.name),
            Self::LanPort(port) => (&port.r#in, &port.name),
            Self::Groups(groups) => (&groups.r#in, &groups.name),
        }
    }

    /// Say what is made, for messages.
    pub(super) fn what(self) -> String {
        let (agent, name) = self.place();
        match self.lan() {
            None => format!("make tunnel {name} in {agent}"),
            Some(by) => format!("make {name} in {agent} on interface {by} of this machine"),
        }
    }

    /// Return the message that creates it, sent from the machine's namespace.
    pub(super) fn message(self, place: &VethEnd) -> Result<RouteNetlinkMessage, Failure> {
        Ok(match self {
            Self::Tunnel(tunnel) => message::tunnel(tunnel, place),
            Self::LanPort(port) => message::lan_port(port, self.usable(&port.by, port.mtu)?, place),
            Self::Groups(groups) => message::groups(groups, self.usable(&groups.by, None)?, place),
        })
    }

    /// Return the interface of the machine whose LAN it is on.
    pub(super) fn lan(self) -> Option<&'a str> {
        match self {
            Self::Tunnel(_) => None,
            Self::LanPort(port) => Some(&port.by),
            Self::Groups(groups) => Some(&groups.by),
        }
    }

    /// Return the index of an interface of this machine, unless it carries no Ethernet frames of this length.
    fn usable(self, name: &str, mtu: Option<u32>) -> Result<u32, Failure> {
        let failure = |why: &str| Failure::new(self.what(), why);
        let index = interface_index(name).map_err(|_| failure("there is no such interface"))?;
        let facts = interface::facts(name).with_context(|| self.what())?;
        if facts.is_loopback || !facts.is_ethernet {
            return Err(failure("it carries no Ethernet frames of a LAN"));
        }
        if !facts.is_up {
            return Err(failure("it is down").fix(format!("as root: ip link set {name} up")));
        }
        match mtu {
            Some(mtu) if mtu > facts.mtu => {
                let (room, why) =
                    (facts.mtu, format!("its MTU is {}, and that of the link {mtu}", facts.mtu));
                Err(failure(&why).fix(format!("give the link `mtu: {room}`")))
            }
            _ => Ok(index),
        }
    }
}
