//! `route`: the interface by which packets to an address leave.

use std::net::IpAddr;

use delaylab_os::netlink::routing;
use delaylab_proto::{Context, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::session::Session;
use crate::session::fields::fields;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    to: IpAddr,
}

/// Return the name of the interface to an address. Fails with the kernel's reason if there is no route.
pub fn serve(request: Value, _: &mut Session) -> Result<Value, Failure> {
    let Request { to } = fields(request)?;
    let index = routing::interface_to(to).with_context(|| format!("find a route to {to}"))?;
    let name = nix::net::if_::if_indextoname(index).context("name an interface")?;
    Ok(json!({"interface": name.to_string_lossy()}))
}
