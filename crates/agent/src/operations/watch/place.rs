//! One place of the lab: the CPU time of a control group, the counters of a network namespace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use delaylab_os::files::folder::Folder;
use delaylab_proto::{Context, Failure};

use super::table::Samples;
use crate::network::counters;
use crate::protocol::network::WatchPlace;

/// A place and the state of its last sample.
pub(super) struct Place {
    name: String,
    /// The process's view of its network, held open: once the process has ended it is empty, also if another
    /// one has its number.
    net: Option<Folder>,
    cpu: Option<Cpu>,
}

impl Place {
    /// Check that everything to be watched exists.
    pub(super) fn new(request: WatchPlace) -> Result<Self, Failure> {
        let WatchPlace { name, pid, cgroups } = request;
        let open = |pid| Folder::open(Path::new(&format!("/proc/{pid}/net")));
        let net = pid.map(open).transpose().with_context(|| format!("watch {name}"))?;
        if let Some(net) = &net {
            counters::interfaces(&net.here())?;
        }
        let cpu = Cpu::find(&cgroups);
        if let Some(cpu) = &cpu {
            cpu.read().ok_or_else(|| {
                Failure::new(format!("watch {name}"), format!("cannot read {}", cpu.file.display()))
            })?;
        }
        Ok(Self { name, net, cpu })
    }

    /// Add this place's metrics; those of a place that has ended are absent.
    pub(super) fn sample(&mut self, samples: &mut Samples) {
        if let Some(used) = self.cpu.as_mut().and_then(Cpu::used) {
            samples.add(&self.name, "cpus", used);
        }
        let Some(net) = &self.net else { return };
        let net = net.here();
        for (interface, counters) in counters::interfaces(&net).unwrap_or_default() {
            for (counter, value) in counters.named() {
                samples.add(&self.name, format!("{interface}.{counter}"), value as f64);
            }
        }
        for (protocol, counters) in counters::protocols(&net).unwrap_or_default() {
            if !["Ip", "Icmp"].contains(&protocol.as_str()) {
                continue;
            }
            for (counter, value) in counters {
                samples.add(&self.name, format!("{protocol}.{counter}"), value as f64);
            }
        }
    }
}

/// The CPU time counter of a control group.
struct Cpu {
    file: PathBuf,
    last: Option<(Instant, f64)>,
}

impl Cpu {
    fn find(cgroups: &BTreeMap<String, PathBuf>) -> Option<Self> {
        let file = |controller: &str, file: &str| cgroups.get(controller).map(|dir| dir.join(file));
        let file = file("cpuacct", "cpuacct.usage").or_else(|| file("unified", "cpu.stat"))?;
        let mut cpu = Self { file, last: None };
        cpu.used();
        Some(cpu)
    }

    /// Return the number of CPUs that the group kept busy since the last call.
    fn used(&mut self) -> Option<f64> {
        let now = (Instant::now(), self.read()?);
        let (then, before) = self.last.replace(now)?;
        let passed = now.0.duration_since(then).as_secs_f64();
        (passed > 0.0).then_some((now.1 - before) / passed)
    }

    /// Read the group's CPU time in seconds since its creation.
    fn read(&self) -> Option<f64> {
        seconds(&self.file, &fs::read_to_string(&self.file).ok()?)
    }
}

/// Convert a reading to seconds: `cpuacct.usage` is in ns, `usage_usec` of `cpu.stat` in µs.
fn seconds(file: &Path, text: &str) -> Option<f64> {
    if file.ends_with("cpu.stat") {
        let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        return Some(usage.parse::<f64>().ok()? / 1e6);
    }
    Some(text.trim().parse::<f64>().ok()? / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    use serde_json::json;

    #[test]
    fn a_process_that_has_ended_has_no_counters() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let request = json!({"name": "a", "pid": child.id()});
        let place = Place::new(serde_json::from_value(request).unwrap()).unwrap();
        let net = place.net.as_ref().unwrap();
        assert!(counters::interfaces(&net.here()).unwrap().contains_key("lo"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(counters::interfaces(&net.here()).is_err());
    }

    #[test]
    fn both_versions_count_seconds() {
        assert_eq!(seconds(Path::new("a/cpuacct.usage"), "2500000000\n"), Some(2.5));
        let stat = "usage_usec 1500000\nuser_usec 1\n";
        assert_eq!(seconds(Path::new("a/cpu.stat"), stat), Some(1.5));
    }
}
