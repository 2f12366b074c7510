//! `route`: the interface by which packets to an address leave.

use delaylab_os::netlink::routing;
use delaylab_proto::{Context, Failure};

use crate::protocol::network::{Route, RouteDone};
use crate::session::Session;

/// Return the name of the interface to an address. Fails with the kernel's reason if there is no route.
pub(crate) fn serve(Route { to }: Route, _: &mut Session) -> Result<RouteDone, Failure> {
    let index = routing::interface_to(to).with_context(|| format!("find a route to {to}"))?;
    let name = nix::net::if_::if_indextoname(index).context("name an interface")?;
    Ok(RouteDone { interface: name.to_string_lossy().into_owned() })
}
