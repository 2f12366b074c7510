//! `discard`: a UDP port that receives packets and drops them (RFC 863), and counts a generator's frames.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::interface::index::interface_index;
use delaylab_os::socket;
use delaylab_os::socket::classic_filter::Program;
use delaylab_os::socket::order_counter::{Order, OrderCounter};
use delaylab_proto::{Context, Failure};
use delaylab_wire::MAGIC;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::session::fields::fields;
use crate::session::{self, Session};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default)]
    port: u16,
    #[serde(default)]
    interfaces: Vec<String>,
}

/// Bind an IPv4 UDP port until `stop`, so that the kernel does not answer packets to it by ICMP errors.
/// Several sessions may share a port. A filter drops each packet before it enters a buffer.
pub fn serve(request: Value, session: &mut Session) -> Result<Value, Failure> {
    let Request { port, interfaces } = fields(request)?;
    let what = || format!("discard what comes to UDP port {port}");
    let socket = socket::shared_udp((Ipv4Addr::UNSPECIFIED, port).into()).with_context(what)?;
    let counted = Counted::attach(socket.as_fd(), interfaces)?;
    if counted.is_none() {
        Program::nothing().attach(socket.as_fd()).with_context(what)?;
    }
    let address = socket::local_address(socket.as_fd()).context("name the port")?;
    session.event(json!({"ready": {"port": address.port()}}))?;
    loop {
        poll::wait(&[(session.input(), Interest::Read)], None).with_context(what)?;
        let ends =
            |order: &session::Order| matches!(order, session::Order::Stop | session::Order::Closed);
        if session.orders()?.iter().any(ends) {
            return Ok(json!({"interfaces": counted.as_ref().map(Counted::message)}));
        }
    }
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

    fn message(&self) -> Value {
        let counts = self.interfaces.iter().map(|(name, index)| {
            let Order { received, reordered } = self.counter.of(*index);
            (name.clone(), json!({"received": received, "reordered": reordered}))
        });
        Value::Object(counts.collect::<Map<_, _>>())
    }
}
