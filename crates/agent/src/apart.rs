//! `apart`: a recorded program of a container runs again, with the files that were kept of the container and nothing
//! else of this machine.
//!
//! The program is the container's own, and need not be trusted more than there: it has no capability, no network and no
//! other user's rights. All of it ends with the process: mounts and namespaces belong to nobody else.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use delaylab_os::files::mount;
use delaylab_os::process::namespace::{self, Namespaces};
use delaylab_os::process::rights;
use delaylab_proto::{Context, Failure};

use crate::capabilities;

/// The most bytes of the file system that holds mount points.
const MOST_BYTES: u64 = 16 << 20;
/// The number by which a replay's page says that this failed (`End` in `src/delaylab/verbs/replay.py`).
const FAILED: u32 = 7;

/// A program, and the files that it has.
#[derive(Args)]
pub(crate) struct Apart {
    /// The folder that is the program's root: regular files in folders.
    root: PathBuf,
    /// A file of this machine that it has at the same path.
    #[arg(long)]
    show: Vec<PathBuf>,
    /// The name by which it is called, if that is not its path.
    #[arg(long)]
    called: Option<OsString>,
    /// The descriptor of its variables, `NAME=VALUE`, each with a zero at its end.
    #[arg(long)]
    variables: i32,
    /// The descriptor of the page that says how the replay ended.
    #[arg(long)]
    page: i32,
    /// The program, by its path in the root or by that of this machine, and its arguments.
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

/// Become the program. A failure is said in the page alone, unless that fails, too.
pub(crate) fn run(given: &Apart) -> Result<ExitCode, Failure> {
    let Err(failure) = become_it(given);
    let text = failure.to_string();
    let length = u32::try_from(text.len()).unwrap_or(0);
    let mut page = [FAILED.to_le_bytes(), length.to_le_bytes()].concat();
    page.extend([0; 16]);
    page.extend(text.as_bytes());
    fs::write(descriptor(given.page), page).map_err(|_| failure)?;
    Ok(ExitCode::FAILURE)
}

fn become_it(given: &Apart) -> Result<Infallible, Failure> {
    let program = Path::new(&given.command[0]);
    let program = match program.strip_prefix(&given.root) {
        Ok(inside) => Path::new("/").join(inside),
        Err(_) => program.to_owned(),
    };
    let variables = fs::read(descriptor(given.variables)).context("read the variables")?;
    let is_root = separate().context("take namespaces of its own")?;
    make_root(&given.root, &given.show)
        .with_context(|| format!("make {} a root", given.root.display()))?;
    capabilities::limit(&[])?;
    if is_root {
        rights::become_nobody().context("give up root's rights")?;
    }
    rights::never_gain().context("give up rights")?;
    let mut command = Command::new(&program);
    if let Some(name) = &given.called {
        command.arg0(name);
    }
    command.args(&given.command[1..]).env_clear();
    for variable in variables.split(|byte| *byte == 0) {
        if let Some(at) = variable.iter().position(|byte| *byte == b'=') {
            let (name, value) = (&variable[..at], &variable[at + 1..]);
            command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
        }
    }
    Err(command.exec()).with_context(|| format!("run {}", program.display()))
}

fn descriptor(number: i32) -> PathBuf {
    format!("/proc/self/fd/{number}").into()
}

/// Take namespaces of its own. Return true if this is the machine's root, and not that of a user namespace.
fn separate() -> io::Result<bool> {
    let own = Namespaces::CLONE_NEWNS | Namespaces::CLONE_NEWNET | Namespaces::CLONE_NEWIPC;
    let (user, group) = namespace::user();
    let is_root = user == 0;
    if is_root {
        namespace::unshare(own)?;
    } else {
        namespace::unshare(own | Namespaces::CLONE_NEWUSER)?;
        namespace::map_to_root(user, group)?;
    }
    mount::make_private()?;
    Ok(is_root)
}

/// Make a folder's files the whole file system, with `/proc`, `/dev/null` and some files of this machine.
fn make_root(root: &Path, show: &[PathBuf]) -> io::Result<()> {
    let folder = File::open(root)?;
    let files = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    let mut kept = Vec::new();
    list(&files, Path::new(""), &mut kept)?;
    // Mount points are made in a file system of its own, and the kept files stay as they are.
    mount::memory(root, MOST_BYTES)?;
    rights::make_readable();
    fs::set_permissions(root, Permissions::from_mode(0o755))?;
    for path in &kept {
        put(&files.join(path), &root.join(path))?;
    }
    for path in show.iter().map(PathBuf::as_path).chain([Path::new("/dev/null")]) {
        put(path, &root.join(path.strip_prefix("/").unwrap_or(path)))?;
    }
    fs::create_dir_all(root.join("proc"))?;
    mount::bind_all(Path::new("/proc"), &root.join("proc"))?;
    std::env::set_current_dir(root)?;
    mount::become_root()
}

/// List the regular files below a folder. Links and devices are left out.
fn list(folder: &Path, inside: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(inside))? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, inside.join(entry.file_name()));
        if kind.is_dir() {
            list(folder, &path, into)?;
        } else if kind.is_file() {
            into.push(path);
        }
    }
    Ok(())
}

/// Show a file at another path.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if !to.exists() {
        File::create(to)?;
    }
    mount::bind(from, to)
}
