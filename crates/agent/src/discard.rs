//! The operation `discard`: a UDP port that takes what comes and drops it (RFC 863).

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use delaylab_os::filter::Program;
use delaylab_os::poll::{self, Want};
use delaylab_os::socket;
use delaylab_proto::Failure;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fields::fields;
use crate::session::{Order, Session};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default)]
    port: u16,
}

/// Holds an IPv4 port until `stop`, with whoever else discards by it, so that the kernel does not answer
/// what comes to it by ICMP errors. A filter drops each packet before it would wait in a buffer.
pub fn serve(request: Value, session: &mut Session) -> Result<Value, Failure> {
    let Request { port } = fields(request)?;
    let failed = |error| Failure::new(format!("discard what comes to UDP port {port}"), error);
    let socket = socket::shared_udp((Ipv4Addr::UNSPECIFIED, port).into()).map_err(failed)?;
    Program::nothing().attach(socket.as_fd()).map_err(failed)?;
    let address = socket::local_address(socket.as_fd())
        .map_err(|error| Failure::new("name the port", error))?;
    session.event(json!({"ready": {"port": address.port()}}))?;
    loop {
        poll::wait(&[(session.input(), Want::Read)], None).map_err(failed)?;
        let ends = |order: &Order| matches!(order, Order::Stop | Order::Closed);
        if session.orders()?.iter().any(ends) {
            return Ok(json!({}));
        }
    }
}
