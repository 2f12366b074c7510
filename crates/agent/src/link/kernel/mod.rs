//! Links carried by the kernel: its bridges join the ports, and its qdiscs implement the conditions
//! (docs/links.md, "Engines").
//!
//! - [`map`]: conditions mapped to the [`setup`] of the kernel's qdiscs, or the reason why not. It is pure, as
//!   are [`qdisc`] (the options of qdiscs), [`limits`] (their limits), and [`jitter_table`] (jitter as a
//!   table). [`plan_setup`]: the setups of all directions of a plan.
//! - [`check`](mod@check): tells before anything is built whether this kernel can carry a plan's links.
//! - [`links`]: builds all of it by the netlink messages of [`message`]; [`counters`] reads the counters.
//! - [`try_features`](mod@try_features): tries which features the kernel has ([`support`]);
//!   [`print_support`] prints them.

mod check;
pub(crate) mod counters;
mod jitter_table;
mod limits;
pub(crate) mod links;
mod map;
mod message;
pub(crate) mod plan_setup;
mod qdisc;
mod setup;
pub(crate) mod support;
#[cfg(test)]
mod tests;
pub(crate) mod try_features;

pub(crate) use check::check;
pub(crate) use try_features::print_support;
