//! The path of frames through delaylab's own engine.
//!
//! - [`forward`]: the loop. [`intake`]: frames that arrive, by a ring; [`outbox`]: frames that leave, by
//!   sockets.
//! - [`laid`]: all links in the form that the loop needs: a [`wire`] for each link, a [`direction`] for each
//!   port, and one [`pool`] of memory. [`due`]: the events that are to come.
//! - [`cable`], [`checksum`]: frames that a cable can carry. [`epoch`]: the two clocks.
//! - [`orders`]: the loop's interface to other threads; [`counts`]: its counters.
//! - [`gates`]: limits senders at their own interfaces, each by a [`gate`].

mod cable;
mod checksum;
pub mod counts;
mod direction;
mod due;
mod epoch;
pub mod forward;
mod gate;
pub mod gates;
mod intake;
mod laid;
pub mod orders;
mod outbox;
mod pool;
mod wire;
