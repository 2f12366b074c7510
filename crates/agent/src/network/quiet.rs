//! Interfaces whose frames belong to a link: the kernel's own stack must answer none of them.

use std::io;

use delaylab_os::kernel;
use delaylab_proto::{Context, Failure};

/// The sysctls that disable IPv6 and the answering of ARP requests, and drop every packet from a sender that has
/// no route back by the interface: without addresses it has none.
const QUIET: [(&str, &str); 3] = [
    ("net/ipv6/conf/{}/disable_ipv6", "1"),
    ("net/ipv4/conf/{}/arp_ignore", "8"),
    ("net/ipv4/conf/{}/rp_filter", "1"),
];

/// Keep the stack from answering on these interfaces of this process's current network namespace.
pub(crate) fn quieten<'a>(interfaces: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    let mut interfaces = interfaces.peekable();
    if interfaces.peek().is_none() {
        return Ok(());
    }
    let sysctls = kernel::NetworkParameters::current(None).context("find sysctls")?;
    for (interface, (name, value)) in
        interfaces.flat_map(|interface| QUIET.map(|set| (interface, set)))
    {
        let name = name.replace("{}", interface);
        match sysctls.set(&name, value) {
            // A kernel without IPv6 sends none anyway.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result.with_context(|| format!("set {name}"))?,
        }
    }
    Ok(())
}
