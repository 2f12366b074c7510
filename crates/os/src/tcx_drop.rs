//! A program that drops all received frames of an interface (`bpf/drop.c`).

use aya::programs::links::FdLink;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
use aya::{Ebpf, EbpfLoader};
use std::io;

use crate::tcx::refused;

/// The compiled `bpf/drop.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/drop.o");

/// The attached program, which is detached on drop.
#[derive(Debug)]
pub struct TcxDrop {
    _program: Ebpf,
    _links: Vec<FdLink>,
}

impl TcxDrop {
    /// Drop all received frames of these interfaces of this network namespace, behind packet sockets and the
    /// programs of taps: the rest of the kernel never sees them. Needs `CAP_BPF` and `CAP_NET_ADMIN` outside
    /// of user namespaces, and Linux 6.6.
    pub fn open<'a>(interfaces: impl Iterator<Item = &'a str>) -> io::Result<Self> {
        let mut object = EbpfLoader::new().btf(None).load(OBJECT).map_err(refused)?;
        let program = object.program_mut("drop_all").expect("the object has this program");
        let program: &mut SchedClassifier = program.try_into().map_err(refused)?;
        program.load().map_err(refused)?;
        let mut attach = |interface: &str| -> io::Result<FdLink> {
            let options = TcAttachOptions::TcxOrder(LinkOrder::last());
            let id = program
                .attach_with_options(interface, TcAttachType::Ingress, options)
                .map_err(refused)?;
            program.take_link(id).map_err(refused)?.try_into().map_err(refused)
        };
        let links = interfaces.map(&mut attach).collect::<io::Result<_>>()?;
        Ok(Self { _program: object, _links: links })
    }
}
