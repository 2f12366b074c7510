//! The path of frames through delaylab's own engine.
//!
//! - [`forward`]: the loop. [`intake`]: frames that arrive, by a ring, and what a cable carries of them;
//!   [`outbox`]: frames that leave, by sockets.
//! - [`link_table`]: all links in the form that the loop needs: a [`switch`] for each link, a [`direction`]
//!   for each port, and one [`pool`] of memory. [`schedule`]: the events that are to come.
//! - [`checksum`]: checksums that a sender left to its interface. [`clock_offset`]: the offset between the clock of
//!   stamps and the monotonic clock.
//! - [`loop_commands`]: commands of the control thread to the loop, and its answers; [`counts`]: counters.
//! - [`sender_limits`]: limits senders at their own interfaces.

mod checksum;
mod clock_offset;
pub(super) mod counts;
mod direction;
pub(super) mod forward;
mod intake;
mod link_table;
pub(super) mod loop_commands;
mod outbox;
pub(super) mod pool;
mod schedule;
pub(super) mod sender_limits;
mod switch;
