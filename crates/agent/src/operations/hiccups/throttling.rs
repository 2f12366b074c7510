//! The time for which CPU quotas held this process up (`cgroups(7)`).

use std::fs;
use std::path::Path;

use crate::fabric::limiting_hierarchies;

/// The number of times that a quota held up a control group, and the time in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Throttled {
    pub ns: u64,
    pub times: u64,
}

impl Throttled {
    /// Read it of this process's group and of those above it: of the one that was held up longest.
    pub(super) fn read() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut most = Self::default();
        for (root, controller) in limiting_hierarchies() {
            let Some(path) = path(&own, controller) else { continue };
            let group = root.join(path.trim_start_matches('/'));
            let above = group.ancestors().take_while(|folder| folder.starts_with(&root));
            most = above.filter_map(of_group).fold(most, Self::max);
        }
        most
    }

    /// Return what has come since an earlier reading.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            ns: self.ns.saturating_sub(earlier.ns),
            times: self.times.saturating_sub(earlier.times),
        }
    }
}

/// Return the path of a process's group by a line `N:CONTROLLERS:PATH`.
fn path<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

fn of_group(folder: &Path) -> Option<Throttled> {
    parse(&fs::read_to_string(folder.join("cpu.stat")).ok()?)
}

/// Parse `cpu.stat`: the time is `throttled_usec` in version 2, `throttled_time` in ns in version 1.
fn parse(stat: &str) -> Option<Throttled> {
    let value = |name: &str| {
        stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    let ns = value("throttled_time ").or_else(|| Some(value("throttled_usec ")? * 1000))?;
    Some(Throttled { ns, times: value("nr_throttled ")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_say_how_long_a_group_was_held_up() {
        let second = "usage_usec 9\nnr_periods 5\nnr_throttled 2\nthrottled_usec 30\n";
        assert_eq!(parse(second), Some(Throttled { ns: 30_000, times: 2 }));
        let first = "nr_periods 5\nnr_throttled 2\nthrottled_time 30\n";
        assert_eq!(parse(first), Some(Throttled { ns: 30, times: 2 }));
        assert_eq!(parse("usage_usec 9\n"), None);
    }

    #[test]
    fn the_group_is_found_in_each_version() {
        let own = "12:cpuset:/e\n11:cpu,cpuacct:/a\n1:name=systemd:/b\n0::/c/d\n";
        assert_eq!((path(own, "cpu"), path(own, "")), (Some("/a"), Some("/c/d")));
    }
}
