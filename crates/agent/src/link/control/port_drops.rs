//! Frames that a port's own queue dropped after it had accepted them: of a TAP whose machine does not read,
//! or of a veth whose peer is down. No system call reports these.

use std::collections::BTreeMap;
use std::path::Path;

use delaylab_proto::Failure;

use crate::network::counters;
use crate::protocol::network::InterfaceCounters;

/// The counters of all interfaces at one moment.
pub struct PortDrops(BTreeMap<String, InterfaceCounters>);

impl PortDrops {
    /// Read the counters in the calling thread's network namespace.
    pub fn read() -> Result<Self, Failure> {
        counters::interfaces(Path::new("/proc/thread-self/net")).map(Self)
    }

    /// Return how many frames a port has dropped since an earlier moment.
    pub fn since(&self, before: &Self, port: &str) -> u64 {
        let of = |all: &Self| all.0.get(port).map_or(0, |one| one.tx_dropped);
        of(self).saturating_sub(of(before))
    }
}
