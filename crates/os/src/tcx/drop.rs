//! A program that drops all received frames of an interface (`bpf/drop.c`).

use std::io;

use aya::programs::links::FdLink;
use aya::programs::{LinkOrder, TcAttachType};
use aya::{Ebpf, EbpfLoader};

use super::attach::{attach, program};
use crate::bpf::load_error::refused;

/// The compiled `bpf/drop.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/drop.o");

/// The attached program, which is detached on drop.
#[derive(Debug)]
pub struct TcxDrop {
    _program: Ebpf,
    _links: Vec<FdLink>,
}

impl TcxDrop {
    /// Drop all received frames of these interfaces of this network namespace, behind packet sockets and the
    /// programs of taps: the rest of the kernel never sees them. Needs `CAP_BPF` and `CAP_NET_ADMIN` outside
    /// of user namespaces, and Linux 6.6. Fails with the loader's text without them.
    pub fn open<'a>(interfaces: impl Iterator<Item = &'a str>) -> io::Result<Self> {
        let mut object = EbpfLoader::new().btf(None).load(OBJECT).map_err(refused)?;
        let program = program(&mut object, "drop_all")?;
        program.load().map_err(refused)?;
        let links = interfaces
            .map(|name| attach(program, name, TcAttachType::Ingress, LinkOrder::last()))
            .collect::<io::Result<_>>()?;
        Ok(Self { _program: object, _links: links })
    }
}
