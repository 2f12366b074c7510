//! `watch`: the state of the machine and of places in the lab, sampled on an absolute schedule.

mod groups;
pub(super) mod machine;
pub(super) mod programs;
mod stopped;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use delaylab_os::files::folder::Folder;
use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure, Frame, Kind, Table};

use crate::network::counters;
use crate::protocol::network::{Watch, WatchDone, WatchPlace};
use crate::protocol::running::Event;
use crate::session::Session;
use machine::MachineSample;
use programs::Programs;
use stopped::Stopped;

/// The least CPUs that a named program or control group took: two ticks of a second.
const LEAST: f64 = 0.02;

/// Sample until `stop`, and send the table `hosts` in parts. Samples whose time passed while an earlier one
/// was still being taken are counted as missed; the others stay on schedule.
pub(super) fn serve(request: Watch, session: &mut Session) -> Result<WatchDone, Failure> {
    if request.interval_ns == 0 {
        return Err(Failure::new("watch", "`interval_ns` is 0"));
    }
    let interval = Duration::from_nanos(request.interval_ns);
    let (brief, parts) = (request.brief, request.parts_ns.map(Duration::from_nanos));
    let mut sent = Instant::now();
    let mut machine = MachineSample::new(brief)?;
    let agents = request.places.iter().filter_map(|place| place.pid);
    let mut programs = Programs::new(agents, request.without_process, brief);
    let first = |place: &WatchPlace| Some((place.name.clone(), place.pid?));
    let mut stopped = Stopped::new(request.places.iter().filter_map(first));
    let mut places =
        request.places.into_iter().map(Watched::new).collect::<Result<Vec<_>, Failure>>()?;
    session.event(&Event::READY)?;
    let mut samples = Samples::default();
    let (mut taken, mut missed) = (0u64, 0u64);
    if brief {
        samples.start(now()?);
        machine.sample(&mut samples)?;
        taken += 1;
    }
    let mut due = Instant::now() + interval;
    while wait_until(due, session)? {
        samples.start(now()?);
        machine.sample(&mut samples)?;
        if let Some(all) = programs.sample(&mut samples) {
            stopped.learn(&all);
        }
        stopped.sample(&mut samples);
        for place in &mut places {
            place.sample(&mut samples);
        }
        if parts.is_some_and(|least| sent.elapsed() >= least) {
            samples.send(session)?;
            sent = Instant::now();
        } else {
            samples.send_if_large(session)?;
        }
        taken += 1;
        due += interval;
        let late = Instant::now().saturating_duration_since(due);
        let passed = u64::try_from(late.as_nanos() / interval.as_nanos()).unwrap_or(u64::MAX);
        missed += passed;
        due += interval * u32::try_from(passed).unwrap_or(u32::MAX);
    }
    if brief {
        samples.start(now()?);
        machine.sample(&mut samples)?;
        programs.sample_now(&mut samples);
        taken += 1;
    }
    samples.send(session)?;
    Ok(WatchDone { samples: taken, missed })
}

/// Wait until the time has come and return true; return false if the client stops the sampling or goes away.
pub(super) fn wait_until(due: Instant, session: &mut Session) -> Result<bool, Failure> {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        let ready = poll::wait(&[(session.input(), Interest::Read)], Some(left))
            .context("wait for the next sample")?;
        if ready[0] {
            if session.must_end()? {
                return Ok(false);
            }
        } else if left.is_zero() {
            return Ok(true);
        }
    }
}

/// Return the time in ns since the Unix epoch.
pub(super) fn now() -> Result<i64, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.context("read the clock")?;
    i64::try_from(since.as_nanos()).context("read the clock")
}

/// One place of the lab, the CPU time of a control group or the counters of a network namespace, and the state of
/// its last sample.
pub(super) struct Watched {
    name: String,
    /// The process's view of its network, held open: once the process has ended it is empty, also if another
    /// one has its number.
    net: Option<Folder>,
    cpu: Option<Cpu>,
}

impl Watched {
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

/// The number of rows at which a part is sent, of about a megabyte.
const LARGE: usize = 20_000;

/// The table `hosts`, one row for each metric of each place at each sample: the rows that were not sent yet.
#[derive(Default)]
pub(super) struct Samples {
    now: i64,
    time: Vec<i64>,
    place: Vec<String>,
    metric: Vec<String>,
    value: Vec<f64>,
}

impl Samples {
    /// Begin a sample, taken at `time_ns` since the Unix epoch.
    pub(super) fn start(&mut self, time_ns: i64) {
        self.now = time_ns;
    }

    /// Add one value to the sample.
    pub(super) fn add(&mut self, place: &str, metric: impl Into<String>, value: f64) {
        self.time.push(self.now);
        self.place.push(place.to_owned());
        self.metric.push(metric.into());
        self.value.push(value);
    }

    /// Send a part of the table if there are enough rows.
    pub(super) fn send_if_large(&mut self, session: &mut Session) -> Result<(), Failure> {
        if self.time.len() >= LARGE { self.send(session) } else { Ok(()) }
    }

    /// Send all buffered rows.
    pub(super) fn send(&mut self, session: &mut Session) -> Result<(), Failure> {
        let now = self.now;
        let rows = std::mem::replace(self, Self { now, ..Self::default() });
        let table = Table::new("hosts", rows.time.len())
            .numbers("time_ns", rows.time.iter().copied())
            .texts("place", texts(&rows.place))
            .texts("metric", texts(&rows.metric))
            .numbers("value", rows.value.iter().copied());
        session.frame(&Frame::new(Kind::Table, table.encode()))
    }
}

fn texts(values: &[String]) -> impl Iterator<Item = Option<&str>> {
    values.iter().map(|text| Some(text.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_process_that_has_ended_has_no_counters() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let request = json!({"name": "a", "pid": child.id()});
        let place = Watched::new(serde_json::from_value(request).unwrap()).unwrap();
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
