//! The file system of a replayed program: its own files, and `/dev/null`. Nothing in it can be changed.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use clap::Args;
use delaylab_os::files::{beneath, mount};
use delaylab_os::process::rights;
use nix::libc;

/// The folder where the root is made, which every machine has. It hides what is there for this process alone.
const PLACE: &str = "/tmp";
/// The most bytes of the file system that holds mount points.
const MOST_BYTES: u64 = 16 << 20;
/// The most files that were kept of a container, and the most folders on the way to one.
const MOST_FILES: usize = 4096;
const MOST_DEEP: usize = 64;
/// The folders of this machine's programs and libraries, or links to them; everybody may read them.
const PROGRAMS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// The settings that the C library reads by itself, if this machine has them; everybody may read them.
const SETTINGS: [&str; 7] = [
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/services",
];
/// The first bytes of programs and libraries (elf(5)).
const ELF: [u8; 4] = *b"\x7fELF";

/// The files that a program has.
#[derive(Args)]
pub(super) struct Files {
    /// A folder with files that were kept of a container: they are all that the program has. Without it, the program
    /// has this machine's programs and libraries.
    #[arg(long)]
    kept: Option<PathBuf>,
    /// A program or library of this machine that it has at the same path.
    #[arg(long)]
    object: Vec<PathBuf>,
}

impl Files {
    /// Make these the whole file system of this process.
    pub(super) fn become_root(&self) -> io::Result<()> {
        let root = Path::new(PLACE);
        let kept = self.kept.as_deref().map(kept).transpose()?.unwrap_or_default();
        let objects = objects(&self.object, self.kept.is_none())?;
        mount::memory(root, MOST_BYTES)?;
        rights::make_readable();
        fs::set_permissions(root, Permissions::from_mode(0o755))?;
        let null = root.join("dev/null");
        put_place(&null, false)?;
        for (file, path) in kept.iter().chain(&objects) {
            put(&held(file), &root.join(path.strip_prefix("/").unwrap_or(path)))?;
        }
        if self.kept.is_none() {
            show_machine(root)?;
        }
        mount::lock(root)?;
        // A device's mount must not be locked against devices.
        mount::bind(Path::new("/dev/null"), &null)?;
        std::env::set_current_dir(root)?;
        mount::become_root()
    }
}

/// Open the regular files below a folder. Links and devices are left out.
fn kept(folder: &Path) -> io::Result<Vec<(File, PathBuf)>> {
    let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(folder)?;
    let mut found = Vec::new();
    list(&folder, Path::new(""), 0, &mut found)?;
    Ok(found)
}

fn list(
    folder: &File,
    inside: &Path,
    deep: usize,
    into: &mut Vec<(File, PathBuf)>,
) -> io::Result<()> {
    for entry in fs::read_dir(held(folder).join(inside))? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, inside.join(entry.file_name()));
        if deep >= MOST_DEEP || into.len() >= MOST_FILES {
            let what = format!(
                "it has more than {MOST_FILES} files, or more than {MOST_DEEP} folders in each other"
            );
            return Err(io::Error::other(what));
        }
        if kind.is_dir() {
            list(folder, &path, deep + 1, into)?;
        } else if kind.is_file() {
            into.push((beneath::named(folder, &path)?, path));
        }
    }
    Ok(())
}

/// Open programs and libraries of this machine, other than those in its folders for them if these are shown.
fn objects(paths: &[PathBuf], has_machine: bool) -> io::Result<Vec<(File, PathBuf)>> {
    let mut found = Vec::new();
    for path in paths {
        let is_plain =
            path.is_absolute() && !path.components().any(|it| it == Component::ParentDir);
        if !is_plain || has_machine && PROGRAMS.iter().any(|it| path.starts_with(it)) {
            continue;
        }
        // To name it: a pipe or a device is not waited for.
        let Ok(file) = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path) else {
            continue;
        };
        if is_object(&file)? {
            found.push((file, path.clone()));
        }
    }
    Ok(found)
}

/// Return true if a file is a program or a library: a recording could name a secret.
fn is_object(file: &File) -> io::Result<bool> {
    let mut begin = [0; ELF.len()];
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let read = File::open(held(file)).and_then(|mut it| it.read_exact(&mut begin));
    Ok(read.is_ok() && begin == ELF)
}

/// Show what all programs of this machine need.
fn show_machine(root: &Path) -> io::Result<()> {
    for path in PROGRAMS.map(Path::new) {
        let place = root.join(path.strip_prefix("/").unwrap_or(path));
        match fs::read_link(path) {
            Ok(target) => symlink(target, place)?,
            Err(_) if path.is_dir() => {
                put_place(&place, true)?;
                mount::bind_all(path, &place)?;
            }
            Err(_) => {}
        }
    }
    for path in SETTINGS.map(Path::new) {
        let place = root.join(path.strip_prefix("/").unwrap_or(path));
        if path.is_dir() {
            put_place(&place, true)?;
            mount::bind_all(path, &place)?;
        } else if path.is_file() {
            put(path, &place)?;
        }
    }
    Ok(())
}

/// Return a path of an open file.
fn held(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Show a file at another path.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    put_place(to, false)?;
    mount::bind(from, to)
}

/// Make an empty folder or file.
fn put_place(at: &Path, folder: bool) -> io::Result<()> {
    if folder {
        return fs::create_dir_all(at);
    }
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent)?;
    }
    if !at.exists() {
        File::create(at)?;
    }
    Ok(())
}
