//! The machine's metrics, at place `machine` (proc_stat(5), Documentation/accounting/psi.rst).

use std::collections::BTreeMap;
use std::fs;

use delaylab_proto::{Context, Failure};

use super::Samples;

pub(in crate::operations) const PLACE: &str = "machine";
/// The columns of a CPU's line in /proc/stat.
const CPU_COLUMNS: [(&str, usize); 6] =
    [("user", 0), ("system", 2), ("idle", 3), ("iowait", 4), ("softirq", 6), ("steal", 7)];
/// The number of columns to count: guest time (columns 8 and 9) is already included in user and nice.
const COUNTED: usize = 8;

type PerCpu = BTreeMap<String, Vec<u64>>;

/// The state of the last sample: metrics cover the time between two samples.
pub(in crate::operations) struct MachineSample {
    /// Sample all CPUs as one, and no interrupts.
    brief: bool,
    cpus: PerCpu,
    softirqs: PerCpu,
}

impl MachineSample {
    /// Start from the current state.
    pub(in crate::operations) fn new(brief: bool) -> Result<Self, Failure> {
        let softirqs = if brief { PerCpu::new() } else { softirqs(&read("/proc/softirqs")?) };
        Ok(Self { brief, cpus: cpus(&read("/proc/stat")?, brief), softirqs })
    }

    /// Add the machine's metrics to a sample.
    pub(in crate::operations) fn sample(&mut self, samples: &mut Samples) -> Result<(), Failure> {
        let now = cpus(&read("/proc/stat")?, self.brief);
        for (cpu, counts) in &now {
            let Some(before) = self.cpus.get(cpu) else { continue };
            for (name, share) in shares(before, counts) {
                samples.add(PLACE, format!("{cpu}.{name}"), share);
            }
        }
        self.cpus = now;
        if !self.brief {
            self.sample_interrupts(samples)?;
        }
        for resource in ["cpu", "io", "memory"] {
            // A kernel without PSI has no such files; its metrics are absent.
            let text = fs::read_to_string(format!("/proc/pressure/{resource}")).unwrap_or_default();
            for (kind, total) in pressure(&text) {
                samples.add(PLACE, format!("pressure.{resource}.{kind}_us"), total as f64);
            }
        }
        Ok(())
    }

    fn sample_interrupts(&mut self, samples: &mut Samples) -> Result<(), Failure> {
        let now = softirqs(&read("/proc/softirqs")?);
        for (name, counts) in &now {
            let Some(before) = self.softirqs.get(name) else { continue };
            for (cpu, (count, before)) in counts.iter().zip(before).enumerate() {
                let metric = format!("cpu{cpu}.{name}");
                samples.add(PLACE, metric, count.saturating_sub(*before) as f64);
            }
        }
        self.softirqs = now;
        let backlog = backlog(&fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default());
        for (name, total) in ["backlog.dropped", "backlog.squeezed"].into_iter().zip(backlog) {
            samples.add(PLACE, name, total as f64);
        }
        Ok(())
    }
}

fn read(path: &str) -> Result<String, Failure> {
    fs::read_to_string(path).with_context(|| format!("read {path}"))
}

/// Return the times of each CPU, or of all `together` as `cpu`.
fn cpus(stat: &str, together: bool) -> PerCpu {
    let wanted = |line: &&str| line.starts_with("cpu") && line.starts_with("cpu ") == together;
    stat.lines().filter(wanted).filter_map(named_numbers).collect()
}

fn softirqs(text: &str) -> PerCpu {
    let wanted = |line: &&str| line.contains("NET_RX:") || line.contains("NET_TX:");
    lines_of(text).filter(wanted).filter_map(named_numbers).collect()
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim)
}

fn named_numbers(line: &str) -> Option<(String, Vec<u64>)> {
    let mut words = line.split_whitespace();
    let name = words.next()?.trim_end_matches(':').to_owned();
    Some((name, words.map_while(|word| word.parse().ok()).collect()))
}

/// Return the share of each kind of time between two readings of one CPU.
fn shares(before: &[u64], now: &[u64]) -> Vec<(&'static str, f64)> {
    let between: Vec<u64> = now
        .iter()
        .zip(before)
        .take(COUNTED)
        .map(|(now, before)| now.saturating_sub(*before))
        .collect();
    let total: u64 = between.iter().sum();
    if total == 0 {
        return Vec::new();
    }
    let share = |column: usize| between.get(column).map(|ticks| *ticks as f64 / total as f64);
    CPU_COLUMNS.iter().filter_map(|&(name, column)| Some((name, share(column)?))).collect()
}

/// Return the frames that all CPUs dropped because their backlog was full, and how often one had no time left
/// for more frames (columns 2 and 3 of `/proc/net/softnet_stat`, in hexadecimal).
fn backlog(text: &str) -> [u64; 2] {
    let column = |line: &str, place| {
        let word = line.split_whitespace().nth(place)?;
        u64::from_str_radix(word, 16).ok()
    };
    [1, 2].map(|place| text.lines().filter_map(|line| column(line, place)).sum())
}

/// Parse totals in µs: `some avg10=… total=N`, `full … total=N`.
fn pressure(text: &str) -> Vec<(&str, u64)> {
    let line = |line| {
        let (kind, _) = str::split_once(line, ' ')?;
        let (_, total) = line.rsplit_once("total=")?;
        Some((kind, total.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_between_two_readings() {
        let before = cpus("cpu 9 9 9 9\ncpu0 100 0 50 800 10 0 5 2 0 0\nintr 5", false);
        let now = cpus("cpu0 130 0 60 840 15 0 10 12 7 0", false);
        let shares = shares(&before["cpu0"], &now["cpu0"]);
        let expected = [
            ("user", 0.3),
            ("system", 0.1),
            ("idle", 0.4),
            ("iowait", 0.05),
            ("softirq", 0.05),
            ("steal", 0.1),
        ];
        assert_eq!(shares, expected);
    }

    #[test]
    fn the_backlogs_of_all_cpus_are_added() {
        let text = "0000a1 00000002 0000001f 00000000\n00000b 00000010 00000001 00000000\n";
        assert_eq!(backlog(text), [18, 32]);
        assert_eq!(backlog(""), [0, 0]);
    }

    #[test]
    fn pressure_and_softirqs() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=42\nfull avg10=0.00 total=7\n";
        assert_eq!(pressure(text), [("some", 42), ("full", 7)]);
        let text = "      CPU0 CPU1\n  HI: 1 2\n NET_TX: 3 4\n NET_RX: 5 6\n";
        let counts = softirqs(text);
        assert_eq!((counts["NET_TX"].clone(), counts["NET_RX"].clone()), (vec![3, 4], vec![5, 6]));
        assert_eq!(counts.len(), 2);
    }
}
