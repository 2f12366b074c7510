//! Pieces that labs' networks and links with conditions share.
//!
//! - [`batch`]: netlink requests by the batch; [`tbf`]: the token bucket filter in them.
//! - [`bridge`]: bridges that carry links, and interfaces on which the host's own stack answers nothing.
//! - [`carrier`](mod@carrier): the state of a card whose driver knows no carrier.
//! - [`counters`]: the kernel's counters of interfaces and protocols; [`queues`]: those of
//!   interfaces' queues. [`addresses`]: those that interfaces have. [`route`]: the interface to an address. [`neighbours`]: how long stacks ask for them.
//! - [`redirect`]: a way for frames through the queue of another interface.
//! - [`trial`]: a network namespace in which the kernel is tried.

pub(crate) mod addresses;
pub(crate) mod batch;
pub(crate) mod bridge;
pub(crate) mod carrier;
pub(crate) mod counters;
pub(crate) mod neighbours;
pub(crate) mod queues;
pub(crate) mod redirect;
pub(crate) mod route;
pub(crate) mod tbf;
pub(crate) mod trial;
