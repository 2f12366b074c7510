//! The mark of processes in a virtual machine whose init is the agent.

/// The environment variable set for all processes that a virtual machine's init starts.
pub(super) const VARIABLE: &str = "DELAYLAB_MACHINE";

/// Return true if this process runs in a virtual machine whose init is the agent.
pub(crate) fn is_alone() -> bool {
    std::env::var_os(VARIABLE).is_some()
}
