//! The numbers of interfaces.

use std::io;

use nix::net::if_::{Interface, if_nameindex, if_nametoindex};

/// Return the index of an interface in the current network namespace (if_nametoindex(3)). Fails with `ENODEV`
/// if it has none of this name.
pub fn interface_index(name: &str) -> io::Result<u32> {
    Ok(if_nametoindex(name)?)
}

/// Return the highest interface index in the current network namespace; 0 if it has no interface.
pub fn highest_index() -> io::Result<u32> {
    Ok(if_nameindex()?.iter().map(Interface::index).max().unwrap_or(0))
}
