//! `discard`: a UDP port that receives packets and drops them (RFC 863), and counts a generator's frames.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::interface::interface_index;
use delaylab_os::socket;
use delaylab_os::socket::filter::Program;
use delaylab_os::socket::order_counter::{FrameCounts, OrderCounter};
use delaylab_proto::{Context, Failure};
use delaylab_wire::MAGIC;

use crate::protocol::generating::{Discard, DiscardDone, Discarded};
use crate::protocol::running::Event;
use crate::session::Session;

/// Bind an IPv4 UDP port until `stop`, so that the kernel does not answer packets to it by ICMP errors.
/// Several sessions may share a port. A filter drops each packet before it enters a buffer.
pub(super) fn serve(request: Discard, session: &mut Session) -> Result<DiscardDone, Failure> {
    let Discard { port, interfaces } = request;
    let what = || format!("discard what comes to UDP port {port}");
    let socket = socket::shared_udp((Ipv4Addr::UNSPECIFIED, port).into()).with_context(what)?;
    let counted = Counted::attach(socket.as_fd(), interfaces)?;
    if counted.is_none() {
        Program::nothing().attach(socket.as_fd()).with_context(what)?;
    }
    let address = socket::local_address(socket.as_fd()).context("name the port")?;
    session.event(&Event::listening(address.port()))?;
    while !session.must_end()? {
        poll::wait(&[(session.input(), Interest::Read)], None).with_context(what)?;
    }
    Ok(DiscardDone { interfaces: counted.as_ref().map(Counted::read) })
}

/// The interfaces whose frames are counted.
struct Counted {
    interfaces: Vec<(String, u32)>,
    counter: OrderCounter,
}

impl Counted {
    /// Count a generator's frames by interface. Return `None` if no interface is named, or if the kernel lets
    /// no programs in.
    fn attach(socket: BorrowedFd<'_>, names: Vec<String>) -> Result<Option<Self>, Failure> {
        if names.is_empty() {
            return Ok(None);
        }
        let interfaces = names
            .into_iter()
            .map(|name| {
                let index = interface_index(&name).with_context(|| format!("find {name}"))?;
                Ok((name, index))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let indices: Vec<u32> = interfaces.iter().map(|&(_, index)| index).collect();
        let counter = OrderCounter::attach(socket, &indices, MAGIC).ok();
        Ok(counter.map(|counter| Self { interfaces, counter }))
    }

    fn read(&self) -> BTreeMap<String, Discarded> {
        let counts = self.interfaces.iter().map(|(name, index)| {
            let FrameCounts { received, reordered } = self.counter.of(*index);
            (name.clone(), Discarded { received, reordered })
        });
        counts.collect()
    }
}
