//! Folders that the node's packages want at boot, which no init of a node makes (tmpfiles.d(5)).

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use super::files;

const LISTS: [&str; 3] = ["/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/lib/tmpfiles.d"];

/// Make the folders, as far as they can be made: a daemon that misses one says so itself. Those outside of the
/// folders of `within` are left out.
pub(crate) fn make(within: &[PathBuf]) {
    for list in LISTS.iter().filter_map(|folder| fs::read_dir(folder).ok()) {
        let files =
            list.flatten().filter(|each| each.path().extension().is_some_and(|end| end == "conf"));
        for file in files {
            for line in fs::read_to_string(file.path()).unwrap_or_default().lines() {
                let own = |path: &Path| {
                    within.is_empty() || within.iter().any(|each| path.starts_with(each))
                };
                if let Some(wanted) = Wanted::read(line).filter(|wanted| own(&wanted.path)) {
                    wanted.make();
                }
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    path: PathBuf,
    mode: u32,
    owner: String,
}

impl Wanted {
    /// Read a line; return `None` if it wants no folder, or one whose name depends on the system.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (kind, path) = (words.next()?, words.next()?);
        if !matches!(kind.as_bytes()[0], b'd' | b'D')
            || !path.starts_with('/')
            || path.contains(['%', '*'])
        {
            return None;
        }
        let mut given = words.map(|word| Some(word).filter(|&word| word != "-"));
        let mut next = || given.next().flatten();
        let mode = next()
            .and_then(|mode| u32::from_str_radix(mode.trim_start_matches(['~', ':']), 8).ok());
        let (user, group) = (next().unwrap_or("root"), next().unwrap_or("root"));
        let owner = format!("{user}:{group}");
        Some(Self { path: path.into(), mode: mode.unwrap_or(0o755), owner })
    }

    fn make(&self) {
        if self.path.exists() || fs::create_dir_all(&self.path).is_err() {
            return;
        }
        if let Ok((user, group)) = files::ids(&self.owner) {
            let _ = chown(&self.path, Some(user), Some(group));
        }
        let _ = fs::set_permissions(&self.path, Permissions::from_mode(self.mode));
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn lines_that_want_a_folder_are_read() {
        let wanted = |path: &str, mode, owner: &str| {
            Some(Wanted { path: path.into(), mode, owner: owner.to_owned() })
        };
        assert_eq!(
            Wanted::read("d /run/frr 0750 frr frrvty"),
            wanted("/run/frr", 0o750, "frr:frrvty")
        );
        assert_eq!(Wanted::read("D! /run/x - - - 10d"), wanted("/run/x", 0o755, "root:root"));
        for line in ["", "# d /x", "f /run/x", "d run/x", "d /run/%b", "L /a - - - - /b"] {
            assert_eq!(Wanted::read(line), None, "{line}");
        }
    }
}
