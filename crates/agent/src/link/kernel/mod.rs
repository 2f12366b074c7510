//! Links carried by the kernel: its bridges join the ports, and its qdiscs implement the conditions
//! (docs/links.md, "Engines").
//!
//! - [`engine`]: the process that builds links, answers for them, and ends when a part has vanished.
//! - [`map`]: conditions mapped to the kernel's features ([`want`]), or the reason why not. It is pure, as
//!   are [`qdisc`] (the options of qdiscs), [`limits`] (their limits), and [`table`] (jitter as a table).
//! - [`check`](mod@check): tells before anything is built whether a plan's links, mapped by [`plan`], can be
//!   had.
//! - [`lay`]: builds all of it by the netlink messages of [`message`]; [`counted`] reads the counters.
//! - [`probe`](mod@probe): tries which of these parts the kernel has ([`can`]).

mod can;
mod check;
mod counted;
mod engine;
mod lay;
mod limits;
mod map;
mod message;
mod plan;
mod probe;
mod qdisc;
mod table;
mod tell;
#[cfg(test)]
mod tests;
mod want;

pub use check::check;
pub use engine::live;
pub use tell::tell;
