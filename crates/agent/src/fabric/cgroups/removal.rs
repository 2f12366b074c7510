//! Removal of control groups, with all that is below them.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::PidFd;

use super::SHARED;

/// The time that killed processes have to leave a group.
const PATIENCE: Duration = Duration::from_secs(5);

/// Return these folders and their parents up to `delaylab`, children first, as they must be removed.
pub(super) fn with_parents<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let shared = |path: &Path| path.file_name().is_some_and(|name| name == SHARED);
        let depth = folder.ancestors().position(shared).unwrap_or(0);
        all.extend(folder.ancestors().take(depth + 1).map(Path::to_owned));
    }
    all.sort_by(|a, b| b.cmp(a));
    all.dedup();
    all
}

/// Remove groups and all groups below them, and wait for ending processes in them. The group `delaylab` stays
/// while it holds another lab.
pub(in crate::fabric) fn remove(folders: &[PathBuf]) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    for folder in folders {
        if folder.file_name().is_some_and(|name| name == SHARED) {
            // An error means that the group holds another lab or is already gone.
            let _ = fs::remove_dir(folder);
        } else {
            remove_with_all_below(folder, deadline)?;
        }
    }
    Ok(())
}

fn remove_with_all_below(folder: &Path, deadline: Instant) -> io::Result<()> {
    loop {
        match fs::remove_dir(folder) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => {}
        }
        for entry in fs::read_dir(folder)?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_with_all_below(&entry.path(), deadline)?;
            }
        }
        wait_for_members(folder, deadline)?;
    }
}

fn wait_for_members(folder: &Path, deadline: Instant) -> io::Result<()> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    let members: Vec<PidFd> =
        text.lines().filter_map(|line| PidFd::open(line.parse().ok()?).ok()).collect();
    for member in &members {
        let left = deadline.saturating_duration_since(Instant::now());
        poll::wait(&[(member.as_fd(), Interest::Read)], Some(left))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_after_children_once() {
        let folders = [PathBuf::from("/c/delaylab/x.1/a"), PathBuf::from("/c/delaylab/x.1/b")];
        let expected = ["/c/delaylab/x.1/b", "/c/delaylab/x.1/a", "/c/delaylab/x.1", "/c/delaylab"];
        assert_eq!(with_parents(folders.iter()), expected.map(PathBuf::from));
    }

    #[test]
    fn a_group_goes_with_all_below_it_and_the_shared_one_only_if_it_is_empty() -> io::Result<()> {
        let top = std::env::temp_dir().join(format!("cgroups-{}", std::process::id()));
        let lab = top.join("delaylab/x.1");
        fs::create_dir_all(lab.join("node.a/delaylab/x.1/inside"))?;
        fs::create_dir_all(lab.join("node.b"))?;
        fs::create_dir_all(top.join("delaylab/other.2"))?;
        let all = with_parents([lab.join("node.a"), lab.clone(), top.join("no/delaylab/x")].iter());
        remove(&all)?;
        assert!(!lab.exists() && top.join("delaylab/other.2").exists());
        fs::remove_dir_all(top)
    }
}
