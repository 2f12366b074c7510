//! `discard`: a UDP port that receives packets and drops them (RFC 863).

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::socket;
use delaylab_os::socket::classic_filter::Program;
use delaylab_proto::{Context, Failure};
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
    let what = || format!("discard what comes to UDP port {port}");
    let socket = socket::shared_udp((Ipv4Addr::UNSPECIFIED, port).into()).with_context(what)?;
    Program::nothing().attach(socket.as_fd()).with_context(what)?;
    let address = socket::local_address(socket.as_fd()).context("name the port")?;
    session.event(json!({"ready": {"port": address.port()}}))?;
    loop {
        poll::wait(&[(session.input(), Interest::Read)], None).with_context(what)?;
        let ends = |order: &Order| matches!(order, Order::Stop | Order::Closed);
        if session.orders()?.iter().any(ends) {
            return Ok(json!({}));
        }
    }
}
