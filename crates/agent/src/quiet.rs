//! Interfaces whose frames are another's: the kernel's own stack is to answer none of them.

use std::io;

use delaylab_os::sysctl;
use delaylab_proto::Failure;

/// No IPv6 there, and no ARP for the addresses of others.
const QUIET: [(&str, &str); 2] =
    [("net/ipv6/conf/{}/disable_ipv6", "1"), ("net/ipv4/conf/{}/arp_ignore", "8")];

/// Keeps the stack of these interfaces quiet, in the network where this process is.
pub fn quieten<'a>(interfaces: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    let mut interfaces = interfaces.peekable();
    if interfaces.peek().is_none() {
        return Ok(());
    }
    let failed = |what: String| move |error: io::Error| Failure::new(what, error);
    let sysctls = sysctl::OfNetwork::current(None).map_err(failed("find sysctls".into()))?;
    for (interface, (name, value)) in
        interfaces.flat_map(|interface| QUIET.map(|set| (interface, set)))
    {
        let name = name.replace("{}", interface);
        match sysctls.set(&name, value) {
            // A kernel without IPv6 is quiet as it is.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result.map_err(failed(format!("set {name}")))?,
        }
    }
    Ok(())
}
