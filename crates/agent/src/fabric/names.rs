//! The names of a lab's nodes: a hosts file (hosts(5)) for its processes and one for its guests.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use delaylab_os::files::folder::Folder;
use delaylab_os::files::mount;
use delaylab_proto::{Context, Failure};
use serde::Deserialize;
use tracing::warn;

/// The file in the run directory that guests get: the names of the lab alone.
const GUESTS: &str = "hosts";
/// The file for processes of the lab on this machine, which also has this machine's names.
const PROCESSES: &str = "hosts.here";
pub const SYSTEM: &str = "/etc/hosts";
const LOCAL: &str = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n";

/// An address in the lab and its names, the node's own first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    address: IpAddr,
    names: Vec<String>,
}

/// Write the lab's names into the run directory, and let this process's mount namespace, which must be the
/// lab's own, show them as `/etc/hosts`. The machine's file stays as it is.
///
/// `path` is the path of the run directory: `place` was opened in another mount namespace, from which nothing
/// can be bound into this one.
pub fn publish(place: &Folder, path: &Path, names: &[Named]) -> Result<(), Failure> {
    let text = text(names);
    write(place, GUESTS, &text).context("write the names of the lab's nodes")?;
    if names.is_empty() {
        return Ok(());
    }
    let Ok(before) = fs::read_to_string(SYSTEM) else {
        warn!("there is no {SYSTEM} to show the names of nodes in");
        return Ok(());
    };
    write(place, PROCESSES, &format!("{text}{before}")).context("write the names of nodes")?;
    if let Err(error) = mount::bind(&path.join(PROCESSES), Path::new(SYSTEM)) {
        warn!(%error, "nodes do not know each other's names");
    }
    Ok(())
}

/// Return the names for a guest; `None` if the lab has none.
pub fn of_guests(place: &Folder) -> Option<String> {
    fs::read_to_string(place.at(GUESTS)).ok()
}

/// Put the lab's names before those of this system's own file. Only for a machine that is the lab's.
pub fn add(text: &str) -> io::Result<()> {
    let before = fs::read_to_string(SYSTEM).unwrap_or_default();
    fs::create_dir_all(Path::new(SYSTEM).parent().unwrap_or(Path::new("/")))?;
    fs::write(SYSTEM, format!("{text}{before}"))
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
}
