//! Files and folders of the user's machine that guests on this one boot: put here once for each content.
//!
//! They are in the folder `stored` beside the agent, which only this user may write to (the shell that starts the
//! [`hub`](super::hub) checks it). Each appears under its name when it is whole. Nothing removes them, since a lab may
//! use them, unless they are no more as they were stored: then they are missing, and the next copy replaces them.

use std::error::Error;
use std::fs::{self, DirBuilder, File};
use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use delaylab_os::files::folder;
use delaylab_os::process::{self, namespace};
use delaylab_proto::{Context, Failure};
use fnv::FnvHasher;
use tar::Archive;

use crate::protocol::machine::{Stored, StoredDone};
use crate::session::Session;

const FOLDER: &str = "stored";
/// The folder of an archive that is not whole yet. There is one: whoever writes to it holds the lock.
const PARTIAL: &str = ".partial";
const LOCK: &str = ".lock";
/// The name in an archive of what is stored.
const ROOT: &str = "stored";
/// The last entry of an archive that is whole.
const END: &str = "end";

/// Say where stored files are, and which of these names are missing.
pub(crate) fn list(request: Stored, _: &mut Session) -> Result<StoredDone, Failure> {
    let folder = place()?;
    remove_remains(&folder);
    let missing = request.names.into_iter().filter(|name| !is_intact(&folder.join(name))).collect();
    Ok(StoredDone { folder, missing })
}

/// Store the file or folder of a tar archive on standard input under a name, whole or not at all.
pub(crate) fn store(name: &Path) -> Result<(), Failure> {
    let what = || format!("store {}", name.display());
    require_plain(name).with_context(what)?;
    // Whoever asks it to end closes its input, too. It then removes what has arrived.
    process::ignore_request_to_end().with_context(what)?;
    store_in(&place()?, name, io::stdin().lock()).with_context(what)
}

fn place() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().context("find the agent's folder")?;
    Ok(program.parent().unwrap_or(Path::new("/")).join(FOLDER))
}

/// Fail unless a name is that of a file in a folder of its own.
fn require_plain(name: &Path) -> io::Result<()> {
    let parts: Vec<_> = name.components().collect();
    let plain = |part: &Component<'_>| match part {
        Component::Normal(name) => !name.as_encoded_bytes().starts_with(b"."),
        _ => false,
    };
    if parts.len() == 2 && parts.iter().all(plain) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not of the form FOLDER/NAME"))
}

fn store_in(folder: &Path, name: &Path, mut archive: impl Read) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
    let lock = File::create(folder.join(LOCK))?;
    lock.lock()?;
    let (partial, place) = (folder.join(PARTIAL), folder.join(name));
    if is_intact(&place) {
        // Another command has stored it meanwhile.
        return io::copy(&mut archive, &mut io::sink()).map(drop);
    }
    remove(&partial)?;
    let stored = unpack(&partial, &mut archive).and_then(|()| {
        // Its sender must not meet a closed pipe: an archive ends in blocks of zeros.
        io::copy(&mut archive, &mut io::sink())?;
        // A machine that loses its power has the whole file under its name, or none.
        folder::write_back(&partial)?;
        fs::create_dir_all(place.parent().unwrap_or(folder))?;
        if fs::symlink_metadata(&place).is_ok_and(|about| !about.is_dir()) {
            fs::remove_file(&place)?;
        }
        remove(&place)?;
        fs::rename(partial.join(ROOT), &place)?;
        // What a kill leaves without its fingerprint is missing, and sent again.
        fs::write(beside(&place), fingerprint(&place)?)
    });
    remove(&partial).and(stored)
}

/// Return true if what is stored at a place is there as it was stored. Contents are not read: a disk that answers
/// other bytes than were written is not noticed.
fn is_intact(place: &Path) -> bool {
    let known = fs::read_to_string(beside(place));
    known.is_ok_and(|known| fingerprint(place).is_ok_and(|now| now == known))
}

/// Return the file with the fingerprint of what is stored at a place. No stored name begins with a dot.
fn beside(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.is"))
}

/// Return a text that is another one once a file below a path is cut, written, added, removed, or given another owner
/// or mode.
fn fingerprint(place: &Path) -> io::Result<String> {
    // Against accidents, not against whoever may write there.
    let (mut sum, mut entries) = (FnvHasher::default(), vec![place.to_owned()]);
    while let Some(entry) = entries.pop() {
        let about = fs::symlink_metadata(&entry)?;
        entry.strip_prefix(place).unwrap_or(&entry).hash(&mut sum);
        let mut numbers = vec![u64::from(about.mode()), about.uid().into(), about.gid().into()];
        if about.is_dir() {
            let mut inside = fs::read_dir(&entry)?
                .map(|found| found.map(|found| found.path()))
                .collect::<io::Result<Vec<_>>>()?;
            inside.sort();
            entries.append(&mut inside);
        } else {
            let written = [about.mtime(), about.mtime_nsec()].map(i64::cast_unsigned);
            numbers.extend([about.len(), written[0], written[1]]);
        }
        numbers.hash(&mut sum);
    }
    Ok(format!("{:016x}", sum.finish()))
}

fn unpack(partial: &Path, input: &mut impl Read) -> io::Result<()> {
    fs::create_dir(partial)?;
    let mut archive = Archive::new(input);
    archive.set_preserve_permissions(true);
    archive.set_preserve_ownerships(namespace::user().0 == 0);
    let mut ended = false;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        ended = path == Path::new(END);
        if !ended && (!path.starts_with(ROOT) || !entry.unpack_in(partial).map_err(with_cause)?) {
            return Err(io::Error::other(format!("{} leads out of it", path.display())));
        }
    }
    if ended { Ok(()) } else { Err(io::Error::other("its sender ended before the archive did")) }
}

/// Remove what a killed agent has left. Whoever holds the lock is at work; an error is met again by [`store`].
fn remove_remains(folder: &Path) {
    if let Ok(lock) = File::open(folder.join(LOCK))
        && lock.try_lock().is_ok()
    {
        let _ = remove(&folder.join(PARTIAL));
    }
}

/// Return an error of the archive with its cause, such as a full disk, which its text leaves out.
fn with_cause(error: io::Error) -> io::Error {
    let mut cause = error.source();
    while let Some(next) = cause.and_then(Error::source) {
        cause = Some(next);
    }
    cause.map(|cause| io::Error::new(error.kind(), format!("{error}: {cause}"))).unwrap_or(error)
}

/// Remove a folder; it is no error if there is none.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(about) if about.uid() != namespace::user().0 => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"))
        }
        Ok(_) => fs::remove_dir_all(folder),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use tar::{Builder, EntryType, Header};

    use super::{PARTIAL, beside, is_intact, require_plain, store_in};

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("delaylab-store-{name}-{}", std::process::id()))
    }

    fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut made = Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o4755);
            header.set_uid(nix::unistd::geteuid().as_raw().into());
            header.set_gid(nix::unistd::getegid().as_raw().into());
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            if kind.is_symlink() {
                header.set_size(0);
                header.set_link_name(content).unwrap();
            } else {
                header.set_size(content.len() as u64);
            }
            header.set_cksum();
            let data = if kind.is_symlink() { "" } else { content };
            made.append(&header, data.as_bytes()).unwrap();
        }
        made.into_inner().unwrap()
    }

    const TREE: [(&str, EntryType, &str); 4] = [
        ("stored", EntryType::Directory, ""),
        ("stored/program", EntryType::Regular, "text"),
        ("stored/link", EntryType::Symlink, "/etc"),
        ("end", EntryType::Regular, ""),
    ];

    #[test]
    fn a_tree_is_stored_once_as_it_was() {
        let folder = folder("tree");
        let name = Path::new("layer-1/rootfs");
        store_in(&folder, name, archive(&TREE).as_slice()).unwrap();
        let file = folder.join(name).join("program");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o4755);
        assert_eq!(fs::read_link(folder.join(name).join("link")).unwrap(), Path::new("/etc"));
        let other = archive(&[("stored", EntryType::Regular, "x"), TREE[3]]);
        store_in(&folder, name, other.as_slice()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_no_more_as_it_was_stored_is_replaced() {
        type Damage = fn(&Path);
        let damages: [Damage; 6] = [
            |tree| fs::write(tree.join("program"), "").unwrap(),
            |tree| fs::write(tree.join("more"), "").unwrap(),
            |tree| fs::remove_file(tree.join("link")).unwrap(),
            |tree| {
                fs::set_permissions(tree.join("program"), PermissionsExt::from_mode(0o600)).unwrap()
            },
            |tree| fs::remove_dir_all(tree).unwrap(),
            |tree| fs::remove_file(beside(tree)).unwrap(),
        ];
        let folder = folder("damaged");
        let place = folder.join("layer-1/rootfs");
        for damage in damages {
            store_in(&folder, Path::new("layer-1/rootfs"), archive(&TREE).as_slice()).unwrap();
            assert!(is_intact(&place));
            damage(&place);
            assert!(!is_intact(&place));
        }
        store_in(&folder, Path::new("layer-1/rootfs"), archive(&TREE).as_slice()).unwrap();
        assert_eq!(fs::read_to_string(place.join("program")).unwrap(), "text");
        assert!(!place.join("more").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_not_whole_or_leads_out_is_not_stored() {
        let folder = folder("partial");
        let whole = archive(&TREE);
        let through_link = [TREE[0], TREE[2], ("stored/link/x", EntryType::Regular, "x"), TREE[3]];
        let outside = [("../x", EntryType::Regular, "x"), TREE[3]];
        let mut refused = vec![archive(&TREE[..3]), archive(&through_link), archive(&outside)];
        refused.extend([0, 700, 1536, 2048].map(|length| whole[..length].to_vec()));
        for archive in refused {
            assert!(store_in(&folder, Path::new("a/b"), archive.as_slice()).is_err());
            assert!(!folder.join("a").exists());
            assert!(!folder.join(PARTIAL).exists());
        }
        store_in(&folder, Path::new("a/b"), whole.as_slice()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn names_lead_nowhere_else() {
        assert!(require_plain(Path::new("layer-1/rootfs")).is_ok());
        for name in ["", "x", "../x", "/x", "/x/y", "x/y/z", ".partial/x", "x/..", "x/.y"] {
            assert!(require_plain(Path::new(name)).is_err(), "{name}");
        }
    }
}
