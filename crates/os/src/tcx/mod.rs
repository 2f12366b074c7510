//! Programs at an interface's traffic control hooks (`tcx`, Linux 6.6 and later), which run in the kernel for
//! each of its packets. They need `CAP_BPF` and `CAP_NET_ADMIN` outside of user namespaces.

mod attach;
mod programs;
pub mod sender;
mod sentinel;
pub mod tap;

pub use programs::SenderSettings;
// Old name: until the agent is moved.
#[doc(hidden)]
pub use programs::SenderSettings as Sender;
