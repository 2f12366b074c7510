//! Times in which processes of the lab were stopped by a signal (`signal(7)`, state `T` of `proc_pid_stat(5)`).

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use super::Samples;
use super::programs::{DEPTH, Stat, stat};

/// Reading the states takes at most a hundredth of one CPU.
const REST: u32 = 100;

/// The name of a process that keeps a program of the lab. A timeline may stop such a program on purpose.
const KEEPS_PROGRAM: &str = "delaylab-prog";

/// The processes of each place, and when their states were read last.
pub(super) struct Stopped {
    /// The names of places, each with its first process.
    places: Vec<(String, u32)>,
    /// The processes that are looked at, each with the number of its place.
    processes: Vec<(usize, u32)>,
    read: Instant,
    due: Instant,
}

impl Stopped {
    /// Start with the first process of each place.
    pub(super) fn new(places: impl Iterator<Item = (String, u32)>) -> Self {
        let places: Vec<(String, u32)> = places.collect();
        let processes = places.iter().enumerate().map(|(place, (_, pid))| (place, *pid)).collect();
        let now = Instant::now();
        Self { places, processes, read: now, due: now }
    }

    /// Look from now on at all processes of this reading that are, or come from, the first one of a place, but
    /// not at the lab's programs.
    pub(super) fn learn(&mut self, stats: &[Stat]) {
        let parents: HashMap<u32, u32> = stats
            .iter()
            .filter(|stat| stat.name != KEEPS_PROGRAM)
            .map(|stat| (stat.id.0, stat.parent))
            .collect();
        let first: HashMap<u32, usize> =
            self.places.iter().enumerate().map(|(place, (_, pid))| (*pid, place)).collect();
        let place = |pid: u32| {
            let chain = std::iter::successors(Some(pid), |pid| parents.get(pid).copied());
            chain.take(DEPTH).find_map(|pid| first.get(&pid).copied())
        };
        let found = stats.iter().filter_map(|stat| Some((place(stat.id.0)?, stat.id.0)));
        self.processes = found.collect();
    }

    /// Add the time since the last reading for each name of a place's processes of which one is stopped.
    pub(super) fn sample(&mut self, samples: &mut Samples) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
        let passed = now.duration_since(self.read).as_secs_f64();
        let found: BTreeSet<(usize, String)> = self
            .processes
            .iter()
            .filter_map(|(place, pid)| stat(*pid).map(|stat| (*place, stat)))
            .filter_map(|(place, stat)| stat.stopped.then_some((place, stat.name)))
            .collect();
        for (place, name) in found {
            samples.add(&self.places[place].0, format!("stopped.{name}"), passed);
        }
        self.read = now;
        self.due = now + now.elapsed() * REST;
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::{WaitPidFlag, waitpid};
    use nix::unistd::Pid;

    use super::*;
    use crate::operations::watch::programs::stats;

    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_stopped_process_is_named_with_its_place() {
        let child = Killed(Command::new("sleep").arg("60").spawn().unwrap());
        let pid = Pid::from_raw(i32::try_from(child.0.id()).unwrap());
        let mut stopped = Stopped::new([("b".to_owned(), std::process::id())].into_iter());
        let mut samples = Samples::default();
        stopped.learn(&stats());
        stopped.sample(&mut samples);
        assert!(samples.metric.is_empty());
        kill(pid, Signal::SIGSTOP).unwrap();
        waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
        stopped.due = Instant::now();
        stopped.sample(&mut samples);
        assert_eq!(
            (samples.place, samples.metric),
            (vec!["b".into()], vec!["stopped.sleep".into()])
        );
        assert!(samples.value[0] > 0.0);
    }
}
