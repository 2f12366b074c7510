//! Files of a node, written where only the node can see them.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use delaylab_os::files::beneath;
use delaylab_proto::{Context, Failure};

use crate::protocol::starting::NodeFile;

/// Write a file, and make the folders that lead to it. No link and no `..` leads out of the folders of `within`.
pub(crate) fn write(file: &NodeFile, within: &[PathBuf]) -> Result<(), Failure> {
    let what = || format!("write {}", file.path.display());
    let root = [PathBuf::from("/")];
    let folders = if within.is_empty() { &root } else { within };
    let found =
        folders.iter().find_map(|folder| Some((folder, file.path.strip_prefix(folder).ok()?)));
    let Some((folder, rest)) = found else {
        let known: Vec<_> = within.iter().map(|each| each.display().to_string()).collect();
        let why = format!("the node has a file system of its own only below {}", known.join(", "));
        return Err(Failure::new(what(), why));
    };
    let mut opened = beneath::create(folder, rest).with_context(what)?;
    opened.write_all(file.content.as_bytes()).with_context(what)?;
    if let Some(owner) = &file.owner {
        let (user, group) = ids(owner).with_context(what)?;
        fchown(&opened, Some(user), Some(group)).with_context(what)?;
    }
    opened.set_permissions(Permissions::from_mode(file.mode)).with_context(what)
}

/// Return the ids of an owner, `USER` or `USER:GROUP`, as the node knows them (passwd(5), group(5)).
pub(crate) fn ids(owner: &str) -> Result<(u32, u32), Failure> {
    let (user, group) =
        owner.split_once(':').map_or((owner, None), |(user, group)| (user, Some(group)));
    let of_user = entry("/etc/passwd", user)?;
    let number = |fields: &[String], at: usize| {
        let text = fields.get(at).and_then(|field| field.parse().ok());
        text.ok_or_else(|| Failure::new(format!("find {owner}"), "the node's entry is malformed"))
    };
    let group = match group {
        Some(group) => number(&entry("/etc/group", group)?, 2)?,
        None => number(&of_user, 3)?,
    };
    Ok((number(&of_user, 2)?, group))
}

/// Return the fields of a name's line.
fn entry(table: &str, name: &str) -> Result<Vec<String>, Failure> {
    let text = fs::read_to_string(Path::new(table)).context(format!("read {table}"))?;
    let mut lines = text.lines().map(|line| line.split(':').map(str::to_owned).collect::<Vec<_>>());
    lines.find(|fields| fields.first().is_some_and(|first| first == name)).ok_or_else(|| {
        Failure::new(format!("find {name}"), format!("{table} of the node has no such name"))
    })
}
