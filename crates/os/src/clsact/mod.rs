//! Programs that are filters of an interface's `clsact` queue (tc-bpf(8), Linux 4.5 and later). The kernel runs
//! them on received frames, behind packet sockets and all `tcx` programs. They need `CAP_BPF` and
//! `CAP_NET_ADMIN` outside of user namespaces.
//!
//! A `tcx` program could do the same. But the kernel waits for a grace period of RCU when it attaches or detaches
//! one, about 13 ms for each interface (kernel/bpf/tcx.c, `tcx_entry_sync`), and a host may have thousands. A
//! filter takes less than 1 ms.

pub mod drop;
pub mod loss;

use std::io;

use aya::programs::tc::{NlOptions, TcAttachOptions, qdisc_add_clsact};
use aya::programs::{SchedClassifier, TcAttachType};

use crate::bpf::load_error::refused;

/// The first filter of a queue.
const FIRST: NlOptions = NlOptions { priority: 1, handle: 1 };

/// The state of an interface's `clsact` queue before a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// There must be none. One that exists is another's, who may remove it, with all its filters.
    New,
    /// The caller has made it.
    Made,
}

/// Make a loaded program the first filter on the received frames of an interface of this network namespace. It
/// stays until the object of the program is dropped, or the interface or its `clsact` queue is removed; it
/// outlives a process that is killed. Fails with `EEXIST` if the queue must be new and is not, and if it has a
/// first filter already.
fn attach(program: &mut SchedClassifier, interface: &str, queue: Queue) -> io::Result<()> {
    if queue == Queue::New {
        qdisc_add_clsact(interface)?;
    }
    let options = TcAttachOptions::Netlink(FIRST);
    program.attach_with_options(interface, TcAttachType::Ingress, options).map_err(refused)?;
    Ok(())
}
