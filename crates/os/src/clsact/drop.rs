//! A program that drops all received frames of an interface (`bpf/drop.c`).

use std::fmt;
use std::io;

use aya::{Ebpf, EbpfLoader};

use super::{Queue, attach};
use crate::bpf::classifier::program;
use crate::bpf::load_error::refused;

/// The compiled `bpf/drop.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/drop.o");

/// The attached program, which is detached on drop.
pub struct DropAll {
    _program: Ebpf,
}

impl DropAll {
    /// Drop all received frames of these interfaces of this network namespace, behind packet sockets and the
    /// programs of taps: the rest of the kernel never sees them. Needs `CAP_BPF` and `CAP_NET_ADMIN` outside
    /// of user namespaces. Fails with the loader's text without them.
    pub fn open<'a>(interfaces: impl Iterator<Item = &'a str>) -> io::Result<Self> {
        let mut object = EbpfLoader::new().btf(None).load(OBJECT).map_err(refused)?;
        let program = program(&mut object, "drop_all")?;
        program.load().map_err(refused)?;
        for name in interfaces {
            attach(program, name, Queue::New)?;
        }
        Ok(Self { _program: object })
    }
}

impl fmt::Debug for DropAll {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "DropAll")
    }
}
