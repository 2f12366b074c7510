//! The programs of links whose frames leave on a LAN as they are (`bpf/lan.c`).

use std::io;

use aya::EbpfLoader;
use aya::maps::HashMap;
use aya::programs::TcAttachType;

use super::{FIRST, attach_to};
use crate::bpf::{classifier, refused};

/// The compiled `bpf/lan.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/lan.o");

/// A MAC address.
pub type Mac = [u8; 6];

/// Let multicast from each of these senders leave by the interfaces of this network namespace to the second address,
/// and get its own destination back where it arrives. The programs stay as long as the interfaces, which must have no
/// `clsact` queue yet. Needs `CAP_BPF` and `CAP_NET_ADMIN` outside of user namespaces. Fails with the loader's text
/// without them.
pub fn rewrite_multicast<'a>(
    interfaces: impl Iterator<Item = &'a str>,
    leaves_to: &[(Mac, Mac)],
) -> io::Result<()> {
    let mut loader = EbpfLoader::new();
    let places = u32::try_from(leaves_to.len().max(1)).map_err(io::Error::other)?;
    let mut object =
        loader.btf(None).set_max_entries("LEAVES_TO", places).load(OBJECT).map_err(refused)?;
    let table = object.map_mut("LEAVES_TO").expect("the object has this map");
    let mut table: HashMap<_, Mac, Mac> = table.try_into().map_err(refused)?;
    for (sender, to) in leaves_to {
        table.insert(sender, to, 0).map_err(refused)?;
    }
    let hooks = [("leave", TcAttachType::Egress), ("arrive", TcAttachType::Ingress)];
    for (name, _) in hooks {
        classifier(&mut object, name)?.load().map_err(refused)?;
    }
    for interface in interfaces {
        aya::programs::tc::qdisc_add_clsact(interface)?;
        for (name, hook) in hooks {
            let program = classifier(&mut object, name)?;
            let id = attach_to(program, interface, hook, FIRST)?;
            // Dropped, the link would detach the program.
            std::mem::forget(program.take_link(id).map_err(refused)?);
        }
    }
    Ok(())
}
