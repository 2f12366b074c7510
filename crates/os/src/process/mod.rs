//! Processes: their creation and their end, their namespaces, CPUs, memory and names.

mod children;
mod clone;
mod command;
pub mod credential_channel;
pub mod end_signals;
mod identity;
pub mod memory;
pub mod namespace;
pub mod open_files;
pub mod scheduling;
mod session;
pub mod title;

pub use children::{
    Ended, Usage, own_usage, reap_by_kernel, reap_by_wait, signal_group, wait, wait_any, wait_usage,
};
pub use clone::{
    Namespaces, Side, clone, die_with_parent, fork, leave_terminal, parent, set_environment,
};
pub use command::{hand_over, new_session};
pub use identity::{PidFd, start_time};
/// Signals by number (signal(7)), for [`PidFd::signal`] and [`signal_group`].
pub use libc::{SIGKILL, SIGTERM};
pub use session::end_session;
// Old names: until the agent is moved.
#[doc(hidden)]
pub use scheduling::{set_affinity, set_thread_affinity};
