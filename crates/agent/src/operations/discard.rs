//! `discard`: a UDP port that receives packets and drops them (RFC 863).

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use delaylab_os::filter::Program;
use delaylab_os::poll::{self, Want};
use delaylab_os::socket;
use delaylab_proto::Failure;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::session::fields::fields;
use crate::session::{Order, Session};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default)]
    port: u16,
}

/// Bind an IPv4 UDP port until `stop`, so that the kernel does not answer packets to it by ICMP errors.
/// Several sessions may share a port. A filter drops each packet before it enters a buffer.
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
