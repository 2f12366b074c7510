//! Control groups of a lab's agents: `delaylab/LAB.PID/AGENT` in each hierarchy, where PID is the keeper's.

pub(super) mod groups;
pub(super) mod removal;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use nix::errno::Errno;

/// The controllers to use. `memory` is not among them: a lab stays under the limit of its user.
const WANTED: [&str; 3] = ["cpuset", "cpu", "cpuacct"];

/// The usual and the smallest `cpu.shares` of version 1 (kernel/sched/sched.h, `MIN_SHARES`).
const USUAL_SHARES: u64 = 1024;
const FEWEST_SHARES: u64 = 2;

/// The time in which a quota is used up and given anew (Documentation/scheduler/sched-bwc.rst).
const PERIOD_US: u64 = 100_000;

/// The most tries to create a group. Another lab that ends may remove the group `delaylab` in between.
const MOST_TRIES: u32 = 1000;

/// The folder in each hierarchy that holds the groups of all labs.
pub(crate) const SHARED: &str = "delaylab";

/// The weight of a group where groups compete for a CPU, and the CPU time that it may use in each 100 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuPolicy {
    pub weight: Option<u64>,
    pub quota_us: Option<u64>,
}

/// The cgroup hierarchies in which groups can be created.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hierarchies {
    /// Version 1: for each controller the folder of this process's group. With `cpu_costs_realtime` a new
    /// group of `cpu` has no real-time CPU time, and a probe in it could not be scheduled on time. Only agents
    /// with a weight or a quota are in one then.
    V1 { roots: BTreeMap<String, PathBuf>, cpu_costs_realtime: bool },
    /// Version 2: the root folder, and its controllers that are wanted.
    V2(PathBuf, Vec<String>),
}

impl Hierarchies {
    /// Find the hierarchies of this system. The error is the reason why there are none.
    pub(super) fn find() -> Result<Self, String> {
        let read =
            |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let (mounts, own) = (read("/proc/self/mounts")?, read("/proc/self/cgroup")?);
        let found = |controller: &str| v1_folder(&mounts, &own, controller);
        let roots: BTreeMap<String, PathBuf> = WANTED
            .iter()
            .filter_map(|controller| Some(((*controller).to_owned(), found(controller)?)))
            .collect();
        if !roots.is_empty() {
            let by_group = |folder: &PathBuf| folder.join("cpu.rt_runtime_us").exists();
            let cpu_costs_realtime = roots.get("cpu").is_some_and(by_group);
            return Ok(Self::V1 { roots, cpu_costs_realtime });
        }
        let root = mounted(&mounts, |kind, _| kind == "cgroup2").ok_or("no cgroups are mounted")?;
        let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
        let usable = controllers.split_whitespace().filter(|name| WANTED.contains(name));
        let usable: Vec<String> = usable.map(str::to_owned).collect();
        if usable.is_empty() {
            return Err(format!("{} has no controllers", root.display()));
        }
        Ok(Self::V2(root, usable))
    }

    /// Return the folder of an agent in each hierarchy, by controller (`unified` for version 2).
    pub(super) fn folders(
        &self,
        lab: &str,
        agent: &str,
        policy: CpuPolicy,
    ) -> BTreeMap<String, PathBuf> {
        let lab = format!("{lab}.{}", std::process::id());
        let below = |root: &Path| root.join(SHARED).join(&lab).join(agent);
        match self {
            Self::V1 { roots, cpu_costs_realtime } => {
                let without = *cpu_costs_realtime && policy == CpuPolicy::default();
                let wanted = roots.iter().filter(|(name, _)| !without || *name != "cpu");
                wanted.map(|(name, root)| (name.clone(), below(root))).collect()
            }
            Self::V2(root, _) => [("unified".to_owned(), below(root))].into(),
        }
    }

    /// Create an agent's folders and assign its CPUs, its weight and its quota; return true if a cpuset binds
    /// it to the CPUs.
    pub(super) fn create(
        &self,
        folders: &BTreeMap<String, PathBuf>,
        cpus: Option<&[usize]>,
        policy: CpuPolicy,
    ) -> io::Result<bool> {
        let list =
            cpus.map(|cpus| cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
        for (controller, folder) in folders {
            let mut tries = 0;
            // A lab that ends at the same moment removes the group of all labs while it is still empty.
            while let Err(error) = self.create_below_all(controller, folder, list.as_deref()) {
                tries += 1;
                if !is_gone(&error) || tries == MOST_TRIES {
                    return Err(error);
                }
            }
        }
        if let Some(weight) = policy.weight {
            self.set_weight(folders, weight)?;
        }
        if let Some(quota_us) = policy.quota_us {
            self.set_quota(folders, quota_us)?;
        }
        Ok(match self {
            Self::V1 { roots, .. } => roots.contains_key("cpuset"),
            Self::V2(_, controllers) => controllers.iter().any(|name| name == "cpuset"),
        })
    }

    /// Create the group of all labs, the lab's and the agent's in one hierarchy.
    fn create_below_all(
        &self,
        controller: &str,
        folder: &Path,
        cpus: Option<&str>,
    ) -> io::Result<()> {
        let lab = folder.parent().unwrap_or(folder);
        let all = lab.parent().unwrap_or(lab);
        for (folder, list) in [(all, None), (lab, None), (folder, cpus)] {
            create_folder(folder)?;
            match self {
                Self::V1 { .. } if controller == "cpuset" => set_v1_cpus(folder, list)?,
                Self::V1 { .. } => {}
                Self::V2(_, controllers) => set_v2_cpus(folder, list, controllers)?,
            }
        }
        Ok(())
    }
}

/// Return true if a group was removed by another process: its folder is gone, or its files are dead.
fn is_gone(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::ENOENT | Errno::ENODEV))
}

impl Hierarchies {
    /// Set a group's weight, of which 100 is usual (Documentation/admin-guide/cgroup-v2.rst, `cpu.weight`).
    fn set_weight(&self, folders: &BTreeMap<String, PathBuf>, weight: u64) -> io::Result<()> {
        let (controller, file, value) = match self {
            Self::V1 { .. } => {
                ("cpu", "cpu.shares", (weight * USUAL_SHARES / 100).max(FEWEST_SHARES))
            }
            Self::V2(..) => ("unified", "cpu.weight", weight),
        };
        write(folders, controller, file, &value.to_string())
    }

    /// Limit a group's CPU time in each period (Documentation/scheduler/sched-bwc.rst, and `cpu.max` in
    /// Documentation/admin-guide/cgroup-v2.rst).
    fn set_quota(&self, folders: &BTreeMap<String, PathBuf>, quota_us: u64) -> io::Result<()> {
        if let Self::V2(..) = self {
            return write(folders, "unified", "cpu.max", &format!("{quota_us} {PERIOD_US}"));
        }
        write(folders, "cpu", "cpu.cfs_period_us", &PERIOD_US.to_string())?;
        write(folders, "cpu", "cpu.cfs_quota_us", &quota_us.to_string())
    }
}

fn write(
    folders: &BTreeMap<String, PathBuf>,
    controller: &str,
    file: &str,
    value: &str,
) -> io::Result<()> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "no controller `cpu`");
    fs::write(folders.get(controller).ok_or_else(none)?.join(file), value)
}

/// Return the folders of this keeper's lab in every hierarchy, below this process's group and below the root.
/// They include folders that delaylab never creates but a guest's software may.
pub(super) fn everywhere(lab: &str) -> io::Result<Vec<PathBuf>> {
    let read = |path: &str| fs::read_to_string(path);
    let roots = roots(&read("/proc/self/mounts")?, &read("/proc/self/cgroup")?);
    let lab = format!("{lab}.{}", std::process::id());
    Ok(roots.iter().map(|root| root.join(SHARED).join(&lab)).collect())
}

/// Fail unless all of these are control groups that delaylab creates: `delaylab`, or groups of a lab below
/// it, in a hierarchy that is mounted here.
pub(super) fn require_ours(folders: &[PathBuf]) -> io::Result<()> {
    let roots = roots(&fs::read_to_string("/proc/self/mounts")?, "");
    match folders.iter().find(|folder| !is_ours(folder, &roots)) {
        None => Ok(()),
        Some(other) => {
            let why = format!(
                "its lock names {}, which is no control group of delaylab's",
                other.display()
            );
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
    }
}

fn is_ours(folder: &Path, roots: &[PathBuf]) -> bool {
    let plain =
        folder.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    // A lab's group is named `delaylab/LAB.PID`.
    let is_labs = |name: &str| {
        let pid = name.rsplit_once('.').map(|(lab, pid)| (!lab.is_empty(), pid.parse::<u32>()));
        matches!(pid, Some((true, Ok(_))))
    };
    let below = roots.iter().find_map(|root| folder.strip_prefix(root).ok());
    let names: Option<Vec<&str>> =
        below.and_then(|below| below.iter().map(|name| name.to_str()).collect());
    let Some(names) = names.filter(|_| plain) else { return false };
    let shared = names.iter().position(|name| *name == SHARED);
    shared.is_some_and(|at| names.get(at + 1).is_none_or(|lab| is_labs(lab)))
}

fn create_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Set the CPUs of a cpuset. It accepts no process before it has both CPUs and memory nodes.
fn set_v1_cpus(folder: &Path, cpus: Option<&str>) -> io::Result<()> {
    let parent = folder.parent().unwrap_or(folder);
    fs::write(folder.join("cpuset.mems"), fs::read(parent.join("cpuset.mems"))?)?;
    let cpus = match cpus {
        Some(list) => list.as_bytes().to_vec(),
        None => fs::read(parent.join("cpuset.cpus"))?,
    };
    fs::write(folder.join("cpuset.cpus"), cpus)
}

/// Enable the controllers in the parent, then set the CPUs.
fn set_v2_cpus(folder: &Path, cpus: Option<&str>, controllers: &[String]) -> io::Result<()> {
    let parent = folder.parent().unwrap_or(folder);
    let list: Vec<String> = controllers.iter().map(|name| format!("+{name}")).collect();
    fs::write(parent.join("cgroup.subtree_control"), list.join(" "))?;
    cpus.map_or(Ok(()), |cpus| fs::write(folder.join("cpuset.cpus"), cpus))
}

/// Return the folder of this process's group in a controller's version 1 hierarchy.
fn v1_folder(mounts: &str, own: &str, controller: &str) -> Option<PathBuf> {
    let has = |list: &str| list.split(',').any(|name| name == controller);
    let root = mounted(mounts, |kind, options| kind == "cgroup" && has(options))?;
    let path = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        has(controllers).then_some(path)
    })?;
    let below = root.join(path.trim_start_matches('/'));
    Some(if below.exists() { below } else { root })
}

/// Return the root and this process's group of every mounted hierarchy.
fn roots(mounts: &str, own: &str) -> Vec<PathBuf> {
    let paths: Vec<&str> = own.lines().filter_map(|line| line.splitn(3, ':').nth(2)).collect();
    let mut found = Vec::new();
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        if let [_, root, "cgroup" | "cgroup2", ..] = fields[..] {
            found.push(PathBuf::from(root));
            // Only the paths that belong to this hierarchy exist in it.
            let below = paths.iter().map(|path| Path::new(root).join(path.trim_start_matches('/')));
            found.extend(below.filter(|path| path.is_dir()));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Return the roots of the hierarchies that count each group's CPU time, with the name of the file that has it.
pub(crate) fn counting_hierarchies() -> Vec<(PathBuf, &'static str)> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let has = |list: &str| has(list, "cpuacct");
    let version_2 = mounted(&mounts, |kind, _| kind == "cgroup2").map(|root| (root, "cpu.stat"));
    let version_1 = mounted(&mounts, |kind, options| kind == "cgroup" && has(options));
    version_2.into_iter().chain(version_1.map(|root| (root, "cpuacct.usage"))).collect()
}

/// Return the hierarchies that limit the CPU time of groups: the root of each, and its controller's name in
/// `/proc/PID/cgroup`, which is empty in version 2.
pub(crate) fn limiting_hierarchies() -> Vec<(PathBuf, &'static str)> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let version_2 = mounted(&mounts, |kind, _| kind == "cgroup2").map(|root| (root, ""));
    let version_1 = mounted(&mounts, |kind, options| kind == "cgroup" && has(options, "cpu"));
    version_2.into_iter().chain(version_1.map(|root| (root, "cpu"))).collect()
}

/// Return true if a list with commas has a name.
fn has(list: &str, wanted: &str) -> bool {
    list.split(',').any(|name| name == wanted)
}

/// Return the first mount point whose type and options satisfy `wanted` (proc_pid_mounts(5)).
fn mounted(mounts: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (folder, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        wanted(kind, options).then(|| PathBuf::from(folder))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::removal::{remove, with_parents};
    use super::*;

    #[test]
    fn a_group_is_made_while_other_labs_remove_the_group_of_all() -> io::Result<()> {
        let top = std::env::temp_dir().join(format!("cgroups-race-{}", std::process::id()));
        fs::create_dir_all(&top)?;
        let roots = [("cpu".to_owned(), top.clone())].into();
        let hierarchies = Hierarchies::V1 { roots, cpu_costs_realtime: false };
        let folders = hierarchies.folders("x", "node.a", CpuPolicy::default());
        let done = AtomicBool::new(false);
        let made: io::Result<()> = thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = fs::remove_dir(top.join(SHARED));
                    thread::yield_now();
                }
            });
            let made = (0..200).try_for_each(|_| {
                hierarchies.create(&folders, None, CpuPolicy::default())?;
                remove(&with_parents(folders.values()))
            });
            done.store(true, Ordering::Relaxed);
            made
        });
        fs::remove_dir_all(top)?;
        made
    }

    #[test]
    fn only_groups_of_labs_in_a_hierarchy_are_delaylabs() {
        let roots = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"].map(PathBuf::from);
        let ours = |path: &str| is_ours(Path::new(path), &roots);
        for path in ["delaylab", "delaylab/a.b.17", "user/delaylab/x.1/node.a/inside"] {
            assert!(ours(&format!("/sys/fs/cgroup/cpu/{path}")), "{path}");
        }
        for path in [
            "/sys/fs/cgroup/cpu",
            "/sys/fs/cgroup/cpu/docker",
            "/sys/fs/cgroup/cpu/delaylab/../docker",
            "/sys/fs/cgroup/cpu/delaylab/docker",
            "/sys/fs/cgroup/memory/delaylab/x.1",
            "/home/delaylab/x.1",
            "delaylab/x.1",
            "",
        ] {
            assert!(!ours(path), "{path}");
        }
    }

    #[test]
    fn every_hierarchy_is_looked_at_from_its_root_and_from_this_process_on() {
        let mounts = "none /proc proc rw 0 0\ncgroup /proc/sys cgroup rw,cpu 0 0\n\
                      cgroup2 /proc/bus cgroup2 rw 0 0";
        let expected = ["/proc/bus", "/proc/sys", "/proc/sys/kernel"].map(PathBuf::from);
        assert_eq!(roots(mounts, "2:cpu:/\n1:name=x:/kernel\n0::/no"), expected);
    }

    #[test]
    fn a_version_1_hierarchy_is_found_by_its_controller() {
        let mounts = "cgroup /proc/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup2 /proc/u cgroup2 rw 0 0";
        let own = "3:memory:/m\n2:cpu,cpuacct:/\n0::/";
        assert_eq!(v1_folder(mounts, own, "cpuacct"), Some(PathBuf::from("/proc/cpu")));
        assert_eq!(v1_folder(mounts, own, "memory"), None);
        let unified = mounted(mounts, |kind, _| kind == "cgroup2");
        assert_eq!(unified, Some(PathBuf::from("/proc/u")));
    }
}
