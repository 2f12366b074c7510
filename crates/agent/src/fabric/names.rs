//! The names of a lab's nodes: a hosts file (hosts(5)) for its processes and one for its guests.
//!
//! A name of the lab stands for the lab's addresses alone. glibc joins all lines that have a name, and prefers
//! loopback among their addresses: a node that is named as its machine would answer from 127.0.0.1.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use delaylab_os::files::folder::Folder;
use delaylab_os::files::mount;
use delaylab_proto::{Context, Failure};
use tracing::warn;

use crate::protocol::lab::Named;

/// The file in the run directory that guests get: the names of the lab alone.
const GUESTS: &str = "hosts";
/// The file for processes of the lab on this machine, which also has this machine's other names.
const PROCESSES: &str = "hosts.here";
pub(super) const SYSTEM: &str = "/etc/hosts";
/// The most bytes that are read of the file for guests: a container with more capabilities than it needs may
/// have written to it.
const LONGEST: u64 = 16 << 20;
const LOCAL: &str = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n";

/// Write the lab's names into the run directory, and let this process's mount namespace, which must be the
/// lab's own, show them as `/etc/hosts`. The machine's file stays as it is.
///
/// `path` is the path of the run directory: `place` was opened in another mount namespace, from which nothing
/// can be bound into this one.
pub(super) fn publish(place: &Folder, path: &Path, names: &[Named]) -> Result<(), Failure> {
    let text = text(names);
    write(place, GUESTS, &text).context("write the names of the lab's nodes")?;
    if names.is_empty() {
        return Ok(());
    }
    let Ok(before) = fs::read_to_string(SYSTEM) else {
        warn!("there is no {SYSTEM} to show the names of nodes in");
        return Ok(());
    };
    write(place, PROCESSES, &before_others(&text, &before)).context("write the names of nodes")?;
    if let Err(error) = mount::bind(&path.join(PROCESSES), Path::new(SYSTEM)) {
        warn!(%error, "nodes do not know each other's names");
    }
    Ok(())
}

/// Return the names for a guest; `None` if the lab has none.
pub(super) fn of_guests(place: &Folder) -> Option<String> {
    let mut text = String::new();
    place.open_file(GUESTS).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Put the lab's names before the other ones of this system's own file. Only for a machine that is the lab's.
pub(super) fn add(text: &str) -> io::Result<()> {
    let before = fs::read_to_string(SYSTEM).unwrap_or_default();
    fs::create_dir_all(Path::new(SYSTEM).parent().unwrap_or(Path::new("/")))?;
    fs::write(SYSTEM, before_others(text, &before))
}

/// Return a hosts file with the lab's lines first and then those of `system`, without the lab's names.
fn before_others(lab: &str, system: &str) -> String {
    let taken: HashSet<String> = lab.lines().flat_map(|line| entry(line).1).map(lower).collect();
    let others = system.lines().filter_map(|line| {
        let (address, names) = entry(line);
        let free: Vec<&str> =
            names.iter().copied().filter(|&name| !taken.contains(&lower(name))).collect();
        if free.len() == names.len() {
            return Some(line.to_owned());
        }
        (!free.is_empty()).then(|| format!("{address}\t{}", free.join(" ")))
    });
    others.fold(lab.to_owned(), |text, line| text + &line + "\n")
}

/// Return the address of a line and its names; a comment has neither.
fn entry(line: &str) -> (&str, Vec<&str>) {
    let mut words = line.split('#').next().unwrap_or("").split_whitespace();
    (words.next().unwrap_or(""), words.collect())
}

/// Return a name as resolvers compare it.
fn lower(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn text(names: &[Named]) -> String {
    let lines = names.iter().map(|one| format!("{}\t{}\n", one.address, one.names.join(" ")));
    LOCAL.to_owned() + &lines.collect::<String>()
}

fn write(place: &Folder, name: &str, text: &str) -> io::Result<()> {
    let mut file = place.create_file(name)?;
    file.write_all(text.as_bytes())?;
    // The programs of a node may run as any user.
    file.set_permissions(Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_comes_after_the_names_of_the_system_itself() {
        let names = [Named {
            address: "198.18.0.1".parse().expect("an address"),
            names: vec!["a".into(), "a.lan".into()],
        }];
        let text = text(&names);
        assert!(text.starts_with("127.0.0.1\tlocalhost\n"));
        assert!(text.ends_with("\n198.18.0.1\ta a.lan\n"));
    }

    #[test]
    fn a_name_of_the_lab_is_the_labs_alone() {
        let lab = "127.0.0.1\tlocalhost\n198.18.0.1\tvm vm.lan\n";
        let system =
            "# vm\n127.0.0.1 localhost\n127.0.1.1 VM. vm.home vm # vm\n\n::1 vm\n9.9.9.9 proxy\n";
        let expected = format!("{lab}# vm\n127.0.1.1\tvm.home\n\n9.9.9.9 proxy\n");
        assert_eq!(before_others(lab, system), expected);
    }
}
