//! `counters`: the kernel's counters of this network namespace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use delaylab_os::clock::Realtime;
use delaylab_proto::{Context, Failure};

use crate::protocol::network::{Counters, CountersDone, InterfaceCounters};
use crate::session::Session;

/// Read `dev`, `snmp` and `snmp6` of `/proc/self/net` once.
pub(crate) fn serve(_: Counters, _: &mut Session) -> Result<CountersDone, Failure> {
    let directory = Path::new("/proc/self/net");
    let mut snmp = protocols(directory)?;
    snmp.retain(|protocol, _| ["Ip", "Icmp", "Udp"].contains(&protocol.as_str()));
    snmp.insert("Icmp6".to_owned(), icmp6(directory));
    let interfaces = interfaces(directory)?;
    // A busy machine may deliver the answer much later: only the reader knows when it read.
    Ok(CountersDone { time_ns: Realtime::now().ns(), interfaces, snmp })
}

/// Read the counters of each interface from `net/dev` (proc_pid_net(5)).
pub(crate) fn interfaces(net: &Path) -> Result<BTreeMap<String, InterfaceCounters>, Failure> {
    Ok(read(&net.join("dev"))?.lines().filter_map(interface).collect())
}

fn interface(line: &str) -> Option<(String, InterfaceCounters)> {
    let (name, rest) = line.split_once(':')?;
    let numbers: Vec<u64> = rest.split_whitespace().map_while(|text| text.parse().ok()).collect();
    let number = |column: usize| numbers.get(column).copied();
    let counters = InterfaceCounters {
        rx_bytes: number(0)?,
        rx_packets: number(1)?,
        rx_dropped: number(3)?,
        tx_bytes: number(8)?,
        tx_packets: number(9)?,
        tx_dropped: number(11)?,
    };
    Some((name.trim().to_owned(), counters))
}

impl InterfaceCounters {
    /// Return the counters by name.
    pub(crate) fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("rx_bytes", self.rx_bytes),
            ("rx_dropped", self.rx_dropped),
            ("rx_packets", self.rx_packets),
            ("tx_bytes", self.tx_bytes),
            ("tx_dropped", self.tx_dropped),
            ("tx_packets", self.tx_packets),
        ]
    }
}

/// Read the counters of each protocol from `net/snmp`: pairs of lines, names and numbers. Values that may be
/// negative (`Tcp MaxConn`) are left out.
pub(crate) fn protocols(net: &Path) -> Result<BTreeMap<String, BTreeMap<String, u64>>, Failure> {
    let text = read(&net.join("snmp"))?;
    let mut lines = text.lines();
    let mut protocols = BTreeMap::new();
    while let (Some(names), Some(numbers)) = (lines.next(), lines.next()) {
        let Some((protocol, names)) = names.split_once(':') else { continue };
        let numbers = numbers.split_whitespace().skip(1);
        let counters = names
            .split_whitespace()
            .zip(numbers)
            .filter_map(|(name, number)| Some((name.to_owned(), number.parse().ok()?)))
            .collect();
        protocols.insert(protocol.to_owned(), counters);
    }
    Ok(protocols)
}

/// Read the counters of `ICMPv6` from `net/snmp6`, a line for each; none where the kernel has no IPv6.
fn icmp6(net: &Path) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(net.join("snmp6")).unwrap_or_default();
    let counter = |line: &str| {
        let (name, number) = line.strip_prefix("Icmp6")?.split_once(char::is_whitespace)?;
        Some((name.to_owned(), number.trim().parse().ok()?))
    };
    text.lines().filter_map(counter).collect()
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_net_dev() {
        let line = "  eth0: 10 2 0 3 0 0 0 0 40 5 0 6 0 0 0 0";
        let (name, counters) = interface(line).unwrap();
        assert_eq!(name, "eth0");
        let expected = InterfaceCounters {
            rx_bytes: 10,
            rx_packets: 2,
            rx_dropped: 3,
            tx_bytes: 40,
            tx_packets: 5,
            tx_dropped: 6,
        };
        assert_eq!(counters, expected);
        assert!(interface(" face |bytes    packets errs drop").is_none());
    }
}
