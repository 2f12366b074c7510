//! Sockets: those that send and receive probe packets and frames, their options, filters and control
//! messages.

mod address;
pub mod classic_filter;
pub mod connection;
pub mod control_message;
pub mod frame_batch;
pub(crate) mod option;
pub mod order_counter;
pub mod packet_socket;
pub mod peer;
pub mod probe_match;
mod probe_socket;
pub(crate) mod program;
pub mod receive_batch;
pub mod send_batch;
mod slots;

pub use probe_socket::{
    Flavour, LARGE_BUFFER, any, check_route, connect_to, icmp, local_address, receive_errors,
    receive_local_address, receive_ttl, set_buffers, set_ttl, shared_udp, udp,
};
