//! rtnetlink(7): requests to the kernel about interfaces, routes and queueing disciplines, and its
//! notifications of their changes.
//!
//! `netlink-packet-core` and `netlink-packet-route` build the requests and read the answers. Own code remains
//! where they have none: the text of an extended acknowledgement ([`Refusal`]) and a qdisc's packets in 64
//! bits ([`qdiscs`]). An attribute that these crates cannot read is skipped rather than an error, because
//! kernels newer than the crates add and extend attributes.

pub mod change_monitor;
pub mod interface;
pub mod link_wait;
mod message;
pub mod neighbours;
pub mod qdiscs;
mod raw_socket;
mod refusal;
mod route_socket;
pub mod routing;
mod single_request;

pub use refusal::Refusal;
pub use route_socket::Route;
