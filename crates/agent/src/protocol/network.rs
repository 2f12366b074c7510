//! Requests about the network and the machine that the agent is in.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sample the state of the machine, and of places in the lab.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch {
    #[serde(default = "tenth_of_a_second")]
    pub interval_ns: u64,
    #[serde(default)]
    pub places: Vec<WatchPlace>,
    // A process that is left out of the programs, with its children.
    #[serde(default)]
    pub without_process: Option<u32>,
    /// Sample all CPUs as one, no interrupts or groups; also at the beginning and the end.
    #[serde(default)]
    pub brief: bool,
    /// The least time between two parts of the table that are sent while it watches; none if left out.
    #[serde(default)]
    pub parts_ns: Option<u64>,
}

fn tenth_of_a_second() -> u64 {
    100_000_000
}

/// A network namespace and control groups to watch.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WatchPlace {
    pub name: String,
    /// A process in the network namespace, by its pid in the agent's PID namespace.
    #[serde(default)]
    pub pid: Option<u32>,
    /// The control groups by controller: `cpuacct`, or `unified` for version 2.
    #[serde(default)]
    pub cgroups: BTreeMap<String, PathBuf>,
}

/// The end of samples.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WatchDone {
    pub samples: u64,
    /// Samples whose time passed while an earlier one was still being taken.
    pub missed: u64,
}

/// Read the counters of this network namespace.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counters {}

/// Counters by interface, and by protocol as in `/proc/net/snmp`; those of `Icmp6` as in `/proc/net/snmp6`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CountersDone {
    /// The time at which they were read, since the Unix epoch.
    #[schemars(range(min = 0))]
    pub time_ns: i64,
    pub interfaces: BTreeMap<String, InterfaceCounters>,
    pub snmp: BTreeMap<String, BTreeMap<String, u64>>,
}

/// An interface's counters since it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct InterfaceCounters {
    pub rx_bytes: u64,
    pub rx_dropped: u64,
    pub rx_packets: u64,
    pub tx_bytes: u64,
    pub tx_dropped: u64,
    pub tx_packets: u64,
}

/// Read the outermost queues of interfaces of this network namespace.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queues {
    /// The interfaces; those that are not there, or that have no queue, are left out of the answer.
    pub on: Vec<String>,
}

/// Queues by interface.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QueuesDone {
    pub queues: BTreeMap<String, QueueCounters>,
}

/// The counters of a queue since it was made, and the frames that wait in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct QueueCounters {
    /// The frames that have left it.
    pub frames: u64,
    pub bytes: u64,
    /// The frames that it had no room for. The kernel's counter has 32 bits.
    pub dropped: u32,
    pub waiting_frames: u32,
    pub waiting_bytes: u32,
}

/// Read the addresses of all interfaces; those that the kernel gives by itself, link-local ones, are left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Addresses {}

/// Addresses with their prefixes, by interface.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AddressesDone {
    pub addresses: BTreeMap<String, Vec<String>>,
}

/// Find the interface by which packets to an address leave.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindRoute {
    pub to: IpAddr,
}

/// The way to an address.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FindRouteDone {
    pub interface: String,
    /// The address that packets come from which name none.
    pub source: Option<IpAddr>,
    /// The router that takes the packets; none on the way to an address of the interface's own network.
    pub gateway: Option<IpAddr>,
    /// The length of the longest packet at the interface, in bytes.
    pub mtu: u32,
}

/// Take the carrier of a card in a virtual machine, or give it back.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Carrier {
    /// The card's name inside the machine.
    pub on: String,
    pub up: bool,
}

/// Let an interface's stack ask so often for a neighbour, once a second, before it gives up.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Neighbours {
    /// The interface.
    pub on: String,
    pub tries: u32,
    /// The IP versions of the interface's addresses.
    pub versions: Vec<u8>,
}
