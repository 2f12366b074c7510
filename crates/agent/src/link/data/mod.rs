//! The path of frames through delaylab's own engine.
//!
//! - [`forward`]: the loop; [`commands`]: those of the control thread to it. [`ports`]: frames in and out.
//! - [`link_table`]: all links in the form that the loop needs: a switch for each link, a [`direction`] for each
//!   port, and one [`pool`] of memory. [`passages`]: when packets of probes passed them.
//! - [`lead`]: how long before it is due a frame is handed to the kernel, which holds it until then.
//! - [`checksum`]: checksums that a sender left to its interface. [`clock_offset`]: the offset between the clock of
//!   stamps and the monotonic clock.
//! - [`warm_route`]: a router whose packets warm up the kernel's path of a frame.
//! - [`sender_limits`]: limits senders at their own interfaces.

mod checksum;
mod clock_offset;
pub(super) mod commands;
pub(super) mod direction;
pub(super) mod forward;
mod lead;
mod link_table;
pub(super) mod passages;
pub(super) mod pool;
mod ports;
pub(super) mod sender_limits;
mod warm_route;
