//! The indices of a lab's interfaces, which are chosen before the interfaces are made.

use std::collections::BTreeMap;

use delaylab_os::interface::highest_index;
use delaylab_proto::{Context, Failure};

use super::local::Local;
use super::plan::NetNs;

/// Return an index above all in this process's namespace, and above those that may be created there
/// meanwhile.
pub(super) fn first_free() -> Result<u32, Failure> {
    const MEANWHILE: u32 = 1000;
    let highest = highest_index();
    highest.map(|highest| highest + MEANWHILE).context("list the machine's interfaces")
}

/// Number the interfaces of each namespace in their order, without gaps, from above `last` on. Those of the
/// machine's own namespace have no number yet.
///
/// The kernel keeps a namespace's interfaces in 256 lists by the last byte of their index (net/core/dev.h,
/// `dev_index_hash`), and goes through one of them for each frame of a link engine. As the two ends of a veth
/// get numbers in turn, all ports would have even ones or all odd ones, and half of the lists would be empty.
pub(super) fn close_gaps(locals: &mut BTreeMap<NetNs, Local<'_>>, mut last: u32) {
    for local in locals.values_mut() {
        let mut indices: Vec<&mut u32> =
            local.made.values_mut().filter(|index| **index != 0).collect();
        indices.sort_unstable();
        for index in indices {
            last += 1;
            *index = last;
        }
    }
}
