//! `route`: the interface by which packets to an address leave, and the address that they come from.

use delaylab_os::interface;
use delaylab_os::netlink::routing;
use delaylab_proto::{Context, Failure};

use crate::protocol::network::{FindRoute, FindRouteDone};
use crate::session::Session;

/// Return the name of the interface to an address. Fails with the kernel's reason if there is no route.
pub(crate) fn serve(
    FindRoute { to }: FindRoute,
    _: &mut Session,
) -> Result<FindRouteDone, Failure> {
    let hop = routing::next_hop(to, None).with_context(|| format!("find a route to {to}"))?;
    let name = nix::net::if_::if_indextoname(hop.interface).context("name an interface")?;
    let interface = name.to_string_lossy().into_owned();
    let mtu = interface::facts(&interface).context("read an interface's MTU")?.mtu;
    let gateway = Some(hop.neighbour).filter(|neighbour| *neighbour != to);
    Ok(FindRouteDone { interface, source: hop.source, gateway, mtu })
}
